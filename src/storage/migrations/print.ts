/**
 * The migrations as SQL for a tool of the user's: complete, with the rows that record them, and made without a database. What was
 * applied this way is the same to `migrate` and to workers as what they applied themselves.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Dialect } from "../database.ts";
import { grantStatements } from "../postgres/rights/grants.ts";
import { schemaOf } from "../postgres/rights/rights.ts";
import { checkRoleName } from "./application-rights.ts";
import { APPLICATION_RIGHTS, PROCESSES, type ProcessName } from "./process-rights.ts";
import { raw } from "../sql.ts";
import { bookkeeping, insertApplied } from "./applied.ts";
import { isConcurrent, MIGRATIONS, statementsOf, type Migration } from "./migration.ts";

export interface PrintOptions {
  /** The first migration to print. Default: 1. */
  readonly from?: number;
  /** Prints the migrations that run outside of a transaction, and only those. Default: false. */
  readonly concurrent?: boolean;
}

export function printMigrations(
  dialect: Dialect,
  { from = 1, concurrent = false }: PrintOptions = {},
  migrations: readonly Migration[] = MIGRATIONS,
): string {
  const newest = Math.max(...migrations.map(({ id }) => id));
  if (!Number.isInteger(from) || from < 1 || from > newest + 1)
    throw new AmendsError("BAD_OPTION", `--from must be the number of a migration, 1 to ${newest}.`);
  const now = raw(dialect.pick({ postgres: "now()", sqlite: "unixepoch() * 1000" }));
  const rest = migrations.filter(({ id }) => id >= from);
  const outside = rest.filter((migration) => isConcurrent(migration, dialect));
  const chosen = concurrent ? outside : rest.filter((migration) => !outside.includes(migration));
  const lines = [`-- ${headline(dialect)}`, `-- ${concurrent ? OUTSIDE : INSIDE}`];
  if (!concurrent && outside.length > 0) {
    const numbers = outside.map(({ id }) => id).join(", ");
    lines.push(`-- Afterwards: the output of amends migrate --print --concurrent (migration ${numbers}).`);
  }
  if (chosen.length === 0) lines.push("-- Nothing to do.");
  else if (from === 1 && !concurrent) lines.push("", ...bookkeeping(dialect).map(ended));
  for (const migration of chosen) {
    lines.push("", `-- Migration ${migration.id}: ${migration.name}`);
    lines.push(...statementsOf(migration, dialect).map(ended));
    lines.push(ended(insertApplied(dialect, migration, now).text));
  }
  return `${lines.join("\n")}\n`;
}

const INSIDE =
  "Run it in one transaction, as a role that may create tables: psql --single-transaction -v ON_ERROR_STOP=1 -f FILE";
const OUTSIDE =
  "Run it outside of a transaction. If it is interrupted, run it again: psql -v ON_ERROR_STOP=1 -f FILE";

function headline(dialect: Dialect): string {
  return dialect.pick({
    postgres: `Amends' tables for PostgreSQL, in the schema ${dialect.name === "postgres" ? schemaOf(dialect) : ""}.`,
    sqlite: "Amends' tables for SQLite.",
  });
}

function ended(statement: string): string {
  return `${statement};`;
}

/** The grants of a role that exists: for one kind of process, or for one that does everything but retention. */
export function printGrants(dialect: Dialect, role: string, process?: ProcessName): string {
  checkRoleName(role);
  const { grants } = process === undefined ? APPLICATION_RIGHTS : PROCESSES[process];
  const what = process ?? "a process that runs every part but retention";
  const lines = grantStatements(dialect, role, grants).map(ended);
  return `${[`-- The rights on Amends' tables of ${what}.`, ...lines].join("\n")}\n`;
}
