/**
 * The DDL fragments in which the two databases differ. Tables, states and conditions come from Amends' own
 * declarations, never from users.
 */
import type { Machine } from "../../core/machine.ts";
import type { Dialect } from "../database.ts";

/** Types of columns. */
interface Types {
  readonly instant: string;
  readonly uuid: string;
  readonly bool: string;
  readonly bigint: string;
  /** Text that compares byte by byte, whatever the database's language is. */
  readonly id: string;
  /** A serial key; no number is ever used twice. */
  readonly serial: string;
  /** The value of a `bool` that is false. */
  readonly no: string;
}

export interface Ddl extends Types {
  /** The name of a table. */
  readonly table: (name: string) => string;
  readonly index: (name: string, on: string) => string;
  readonly uniqueIndex: (name: string, on: string) => string;
  /** The gate in an index, so that an empty one sorts first and can be compared. */
  readonly gate: (column: string) => string;
  /** The end of a CREATE TABLE statement. */
  readonly end: (...traits: readonly Trait[]) => string;
  /** Triggers that refuse a change, whatever client makes it. */
  readonly refuse: (refusal: Refusal) => string[];
  /** A trigger that carries out a statement for each changed row. */
  readonly trigger: (trigger: Trigger) => string[];
  readonly pick: Dialect["pick"];
}

/** `changing`: rows are updated, so that they need room on their page. `keyed`: rows are stored by their primary key. */
type Trait = "changing" | "keyed";

export interface Refusal {
  readonly name: string;
  readonly table: string;
  readonly on: "update" | "delete";
  /** A condition over `old`. Default: every such statement is refused. */
  readonly when?: string;
  readonly message: string;
}

export interface Trigger {
  readonly name: string;
  readonly table: string;
  readonly on: "insert" | "update" | "delete";
  /** A condition over `new` or `old`. */
  readonly when: string;
  /** The same. */
  readonly statement: string;
}

export function ddlOf(dialect: Dialect): Ddl {
  const table = (name: string): string => dialect.table(name).text;
  // On PostgreSQL an index lives in its table's schema; on SQLite its name needs the prefix.
  const indexName = (name: string): string => dialect.pick({ postgres: name, sqlite: table(name) });
  return {
    ...dialect.pick({ postgres: POSTGRES, sqlite: SQLITE }),
    table,
    index: (name, on) => `create index ${indexName(name)} on ${on}`,
    uniqueIndex: (name, on) => `create unique index ${indexName(name)} on ${on}`,
    gate: (column) =>
      dialect.pick({
        postgres: `coalesce(${column}, '-infinity'::timestamptz)`,
        sqlite: `coalesce(${column}, 0)`,
      }),
    end: (...traits) =>
      dialect.pick({
        // Vacuum early, because every row changes.
        postgres: traits.includes("changing")
          ? ") with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)"
          : ")",
        sqlite: traits.includes("keyed") ? ") strict, without rowid" : ") strict",
      }),
    refuse: (refusal) => dialect.pick({ postgres: refuseOnPostgres, sqlite: refuseOnSqlite })(table, refusal),
    trigger: (trigger) =>
      dialect.pick({ postgres: triggerOnPostgres, sqlite: triggerOnSqlite })(table, trigger),
    pick: (of) => dialect.pick(of),
  };
}

const POSTGRES: Types = {
  instant: "timestamptz",
  uuid: "uuid",
  bool: "boolean",
  bigint: "bigint",
  id: 'text collate "C"',
  serial: "bigint generated always as identity primary key",
  no: "false",
};

const SQLITE: Types = {
  instant: "integer",
  uuid: "text",
  bool: "integer",
  bigint: "integer",
  id: "text",
  serial: "integer primary key autoincrement",
  no: "0",
};

function refuseOnPostgres(table: Ddl["table"], refusal: Refusal): string[] {
  const { name, on, message } = refusal;
  const when = refusal.when === undefined ? "" : ` when (${refusal.when})`;
  return [
    `create function ${table(name)}() returns trigger language plpgsql as $$ begin raise exception '${message}'; end $$`,
    // An AFTER trigger fails the statement as well; a BEFORE trigger would lock each row once more.
    `create trigger ${name} after ${on} on ${table(refusal.table)} for each row${when} execute function ${table(name)}()`,
  ];
}

function refuseOnSqlite(table: Ddl["table"], refusal: Refusal): string[] {
  const { name, on, message } = refusal;
  const when = refusal.when === undefined ? "" : ` when ${refusal.when}`;
  return [
    `create trigger ${table(name)} before ${on} on ${table(refusal.table)} for each row${when} begin select raise(abort, '${message}'); end`,
  ];
}

function triggerOnPostgres(table: Ddl["table"], trigger: Trigger): string[] {
  const { name, on, when, statement } = trigger;
  return [
    `create function ${table(name)}() returns trigger language plpgsql as $$ begin ${statement}; return null; end $$`,
    `create trigger ${name} after ${on} on ${table(trigger.table)} for each row when (${when}) execute function ${table(name)}()`,
  ];
}

function triggerOnSqlite(table: Ddl["table"], trigger: Trigger): string[] {
  const { name, on, when, statement } = trigger;
  return [
    `create trigger ${table(name)} after ${on} on ${table(trigger.table)} for each row when ${when} begin ${statement}; end`,
  ];
}

export function oneOf(column: string, names: readonly string[]): string {
  return `${column} in (${names.map((name) => `'${name}'`).join(", ")})`;
}

type Arrows = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The column has this state of the machine. */
export function isState<T extends Arrows>(column: string, _of: Machine<T>, state: keyof T & string): string {
  return `${column} = '${state}'`;
}

/** The default of a state column: the initial state. */
export function initially(of: { readonly initial: string }): string {
  return `default '${of.initial}'`;
}
