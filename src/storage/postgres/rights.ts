/** Rights on Amends' tables: declare the rights of a role, grant them, and find those that a login lacks. */
import { AmendsError } from "../../core/errors.ts";
import { text } from "../column.ts";
import type { Database, Dialect, Session } from "../database.ts";
import { fields } from "../fields.ts";
import { persist } from "../retry.ts";
import { raw, sql, type Sql } from "../sql.ts";
import { projection, type Projection } from "../table.ts";

/** On all columns of a table, or on some. */
export type Rights = Readonly<
  Partial<Record<"select" | "insert" | "update", true | readonly string[]> & { delete: true }>
>;

/** Rights by table. */
export type Grants = Readonly<Record<string, Rights>>;

export interface Role {
  /** The role's name without the schema's prefix. */
  readonly name: string;
  readonly grants: Grants;
}

export function schemaOf(dialect: Dialect): string {
  return dialect.table("").text.replace(".", "");
}

/** A role belongs to the whole server, so the schema is part of its name. */
export function roleName(dialect: Dialect, { name }: Role): string {
  return `${schemaOf(dialect)}_${name}`;
}

/** Creates a role that cannot log in, and grants it its rights. */
export async function grantRole(session: Session, role: Role): Promise<void> {
  const { dialect } = session;
  if (dialect.name !== "postgres") {
    throw new AmendsError("NOT_SUPPORTED", "SQLite has no roles: leave `roles` out.");
  }
  const name = roleName(dialect, role);
  // Another process may create the role concurrently.
  await session.query(
    raw(
      `do $$ begin create role ${name} nologin; exception when duplicate_object or unique_violation then null; end $$`,
    ),
  );
  await session.query(raw(`grant usage on schema ${schemaOf(dialect)} to ${name}`));
  await session.query(raw(`grant execute on function ${dialect.table("refuse").text}() to ${name}`));
  for (const [table, rights] of Object.entries(role.grants))
    await session.query(raw(`grant ${textOf(rights)} on ${dialect.table(table).text} to ${name}`));
}

/** The combined rights of several roles. */
export function together(...all: readonly Grants[]): Grants {
  const sum: Record<string, Record<string, true | readonly string[]>> = {};
  for (const grants of all)
    for (const [table, rights] of Object.entries(grants)) {
      const known = (sum[table] ??= {});
      for (const [right, columns] of Object.entries(rights)) {
        const before = known[right] ?? [];
        known[right] = before === true || columns === true ? true : [...new Set([...before, ...columns])];
      }
    }
  return sum;
}

/** `select, insert (a, b)` */
export function textOf(rights: Rights): string {
  return Object.entries(rights)
    .map(([right, columns]) => (columns === true ? right : `${right} (${columns.join(", ")})`))
    .join(", ");
}

/** A right that a login lacks. */
export interface MissingRight {
  readonly login: string;
  readonly table: string;
  readonly right: string;
  /** Empty: all columns. */
  readonly column: string;
}

/** The rights of a role that the login lacks; none on a database without rights. */
export async function missingRights(
  db: Pick<Database, "dialect" | "query" | "clock">,
  role: Role,
): Promise<readonly MissingRight[]> {
  if (db.dialect.name !== "postgres") return [];
  const rows = await persist(db, () => db.query(selectMissing(db.dialect, role.grants)));
  return rows.map((row) => MISSING.read(row));
}

/** `delete on amends.saga_interests, …` */
export function listRights(missing: readonly MissingRight[]): string {
  return [...new Set(missing.map(({ right, table }) => `${right} on ${table}`))].join(", ");
}

/** Throws if the login lacks rights of a role; the error lists them. */
export async function checkRights(
  db: Database,
  role: Role,
  what: string,
  advice: (login: string) => string = (login) =>
    `Run \`migrate({ roles: true })\` once, then \`grant ${roleName(db.dialect, role)} to "${login}"\`.`,
): Promise<void> {
  const missing = await missingRights(db, role);
  const [first] = missing;
  if (!first) return;
  const { login } = first;
  const name = roleName(db.dialect, role);
  throw new AmendsError(
    "DATABASE_FORBIDDEN",
    `The login "${login}" lacks rights that ${what} needs: ${listRights(missing)}. ${advice(login)}`,
    { login, role: name, missing: missing.map(({ right, table, column }) => ({ right, table, column })) },
  );
}

interface Needed {
  readonly table: string;
  readonly right: string;
  /** Undefined: all columns. */
  readonly column: string | undefined;
}

const NEEDED = fields<Needed>({
  relation: text((one) => one.table),
  rights: text((one) => one.right),
  col: text((one) => one.column),
});

const MISSING: Projection<MissingRight> = projection({
  login: text("login"),
  table: text("relation"),
  right: text("rights"),
  column: text("col"),
});

function selectMissing(dialect: Dialect, grants: Grants): Sql {
  const needed = Object.entries(grants).flatMap(([name, rights]) =>
    Object.entries(rights).flatMap(([right, columns]): Needed[] => {
      const table = dialect.table(name).text;
      return columns === true
        ? [{ table, right, column: undefined }]
        : columns.map((column) => ({ table, right, column }));
    }),
  );
  return sql`select current_user::text as login, r.relation, r.rights, coalesce(r.col, '') as col
    from ${dialect.rows(NEEDED, needed)}
    where not case when r.col is null then has_table_privilege(r.relation, r.rights)
      else has_column_privilege(r.relation, r.col, r.rights) end`;
}
