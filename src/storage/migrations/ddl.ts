/** The words of table definitions in which the two databases differ. Names and states come from our own tables. */
import type { Dialect } from "../database.ts";

export interface Words {
  readonly instant: string;
  readonly uuid: string;
  readonly bool: string;
  /** The gate in an index, so that an empty one sorts first and can be compared. */
  readonly gate: (column: string) => string;
  /** Text that compares byte by byte, whatever the database's language is. */
  readonly id: string;
  /** A key that the database counts up; no number is ever given twice. */
  readonly serial: string;
  readonly bigint: string;
}

const POSTGRES: Words = {
  instant: "timestamptz",
  uuid: "uuid",
  bool: "boolean",
  gate: (column) => `coalesce(${column}, '-infinity'::timestamptz)`,
  id: 'text collate "C"',
  serial: "bigint generated always as identity primary key",
  bigint: "bigint",
};

const SQLITE: Words = {
  instant: "integer",
  uuid: "text",
  bool: "integer",
  gate: (column) => `coalesce(${column}, 0)`,
  id: "text",
  serial: "integer primary key autoincrement",
  bigint: "integer",
};

export function words(dialect: Dialect): Words {
  return dialect.name === "postgres" ? POSTGRES : SQLITE;
}

export function oneOf(column: string, names: readonly string[]): string {
  return `${column} in (${names.map((name) => `'${name}'`).join(", ")})`;
}

/** On PostgreSQL an index lives in its table's schema; on SQLite its name needs the prefix. */
export function indexName(dialect: Dialect, name: string): string {
  return dialect.name === "postgres" ? name : dialect.table(name).text;
}

export interface Refusal {
  readonly name: string;
  readonly table: string;
  readonly on: "update" | "delete";
  /** A condition over `old`; without one every such statement is refused. */
  readonly when?: string;
  readonly message: string;
}

/** The database itself refuses: whoever comes with another client cannot do it either. */
export function refuse(dialect: Dialect, refusal: Refusal): string[] {
  const table = dialect.table(refusal.table).text;
  const when = refusal.when ? ` when (${refusal.when})` : "";
  if (dialect.name === "sqlite") {
    const sqliteWhen = refusal.when ? ` when ${refusal.when}` : "";
    return [
      `create trigger ${dialect.table(refusal.name).text} before ${refusal.on} on ${table} for each row${sqliteWhen} begin select raise(abort, '${refusal.message}'); end`,
    ];
  }
  const routine = dialect.table(refusal.name).text;
  return [
    `create function ${routine}() returns trigger language plpgsql as $$ begin raise exception '${refusal.message}'; end $$`,
    // Afterwards is as good, for the statement fails either way; beforehand, every change would lock its row once more.
    `create trigger ${refusal.name} after ${refusal.on} on ${table} for each row${when} execute function ${routine}()`,
  ];
}
