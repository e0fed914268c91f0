/** The statements that make a role and grant it its rights, to carry out or to print. */
import { AmendsError } from "../../../core/errors.ts";
import type { Dialect, Session } from "../../database.ts";
import { raw } from "../../sql.ts";
import { isReserved } from "../schema-name.ts";
import { schemaOf, textOf, type Grants } from "./rights.ts";

/** The schema, the function that refuses an optimistic write, and the tables. */
export function grantStatements(dialect: Dialect, role: string, grants: Grants): readonly string[] {
  const name = quoted(role);
  return [
    `grant usage on schema ${schemaOf(dialect)} to ${name}`,
    `grant execute on function ${dialect.table("refuse").text}() to ${name}`,
    ...Object.entries(grants).map(
      ([table, rights]) => `grant ${textOf(rights)} on ${dialect.table(table).text} to ${name}`,
    ),
  ];
}

/** Makes a role that cannot log in if there is none of this name, and grants it its rights. */
export async function grantRole(session: Session, role: string, grants: Grants): Promise<void> {
  const { dialect } = session;
  if (dialect.name !== "postgres")
    throw new AmendsError("NOT_SUPPORTED", "SQLite has no roles: leave roles and grants out.");
  await session.query(raw(createRole(role)));
  for (const statement of grantStatements(dialect, role, grants)) await session.query(raw(statement));
}

/** The right to create roles is not needed for one that exists. Another process may create it concurrently. */
function createRole(role: string): string {
  // A text in quotes, not in dollars: a name may hold dollars, and no quote.
  return `do 'begin
      if not exists (select from pg_roles where rolname = ''${role}'') then create role ${quoted(role)} nologin; end if;
    exception when duplicate_object or unique_violation then null; end'`;
}

/** Only names that were checked get here: they hold no quote. */
function quoted(role: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(role) && !isReserved(role) ? role : `"${role}"`;
}
