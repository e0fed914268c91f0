/**
 * The database port: what every part asks of a database, and all that an adapter has to give. One operation takes
 * at most one connection, and nothing is held between two calls except inside `transaction`.
 */
import type { ErrorCode } from "../core/errors.ts";
import type { Clock } from "./clock.ts";
import type { Fields } from "./fields.ts";
import type { PositionalColumn } from "./positional.ts";
import type { Sql } from "./sql.ts";

export type { PositionalColumn as Column } from "./positional.ts";

/** A row as a driver returns it. `table` and `projection` read it (table.ts). */
export type Row = Readonly<Record<string, unknown>>;

/** What a database error means for the work that met it. */
export interface Trouble {
  /**
   * `transient`: nothing was committed, trying again may help. `unknown`: the connection was lost and the commit
   * may or may not have happened, so the work is read again before it is repeated. `permanent`: the statement is at fault.
   */
  readonly kind: "transient" | "unknown" | "permanent";
  readonly code: ErrorCode;
  /** Somebody else holds a lock that one of several rows needs. */
  readonly blocked?: boolean;
}

/** Which rule a statement broke. */
export type Violation =
  /** An optimistic write found something that is not as expected (checked-write.ts). */
  | { readonly kind: "refused" }
  /**
   * The key exists already. PostgreSQL names its constraint, SQLite its columns. A table that is not one of ours keeps
   * its full name.
   */
  | {
      readonly kind: "unique";
      readonly table: string;
      readonly constraint: string | undefined;
      readonly columns: readonly string[] | undefined;
    };

/** The words in which the two databases differ. Every statement is written once, with these in it. */
export interface Dialect {
  readonly name: "postgres" | "sqlite";
  /** One of two values, where the databases need different ones. */
  pick<T>(of: { readonly postgres: T; readonly sqlite: T }): T;
  table(name: string): Sql;
  /** The instant of this statement, by the database's clock (or the test kit's). */
  now(): Sql;
  /** An instant some milliseconds later. */
  plusMs(instant: Sql, ms: Sql | number): Sql;
  /** The instant so many milliseconds after the epoch. */
  instantOf(ms: Sql | number): Sql;
  /** An instant as milliseconds since the epoch. */
  epochMs(instant: Sql): Sql;
  /** Locks the rows of this alias; nothing on a database with one writer. `skip locked`: only those that are free. */
  forUpdateOf(alias: string, wait?: "skip locked"): Sql;
  /** These objects as a relation `r` with these fields: one parameter per field or one for all, however many objects. */
  rows<From>(fields: Fields<From>, from: readonly From[]): Sql;
  /** The same with rows that are built by position. Only for statements that are not on `fields` yet. */
  rows(columns: readonly PositionalColumn[], rows: readonly (readonly unknown[])[]): Sql;
  /** `column` is one of these. */
  among(column: Sql, values: readonly string[], type?: "text" | "bigint"): Sql;
  /** Wakes the workers that listen once the transaction commits; undefined where the database cannot. */
  notify(): Sql | undefined;
  trouble(error: unknown): Trouble;
  /** Undefined where the statement failed for another reason. */
  violation(error: unknown): Violation | undefined;
}

/** Nothing was sent: the database is no longer the one that the work was made for. */
export class DatabaseReplaced extends Error {
  constructor() {
    super("the database was replaced");
  }
}

/**
 * Thrown from inside a transaction whose work is still using it: the connection is destroyed instead of rolled back, so
 * that nothing that the work still sends is ever committed.
 */
export class AbandonedTransaction extends Error {
  constructor() {
    super("the transaction was abandoned");
  }
}

/** Statements inside one open transaction. */
export interface Session {
  readonly dialect: Dialect;
  query(statement: Sql): Promise<readonly Row[]>;
}

/** A database that Amends runs on. `postgres` and `sqlite` make one. */
export interface Database<Tx = unknown> {
  /** How statements are written for this database. */
  readonly dialect: Dialect;
  /** Where time comes from. */
  readonly clock: Clock;
  /** How many connections it opens at most; undefined where there is but one. */
  readonly connections?: number;
  /**
   * Rises when the server turns out to be another one, or to have gone back in time (a failover that lost commits): what
   * was read before may no longer be there. Undefined where that cannot happen unseen.
   */
  readonly epoch?: number;
  /** Calls back when the epoch has risen. */
  onReplaced?(listener: () => void): () => void;
  /** Connects, and refuses a database that cannot keep what Amends promises. Safe to call again. */
  open(): Promise<void>;
  /** One statement, committed by itself. `limitMs` is how long its answer may take, where it must come sooner than usual. */
  query(statement: Sql, limitMs?: number): Promise<readonly Row[]>;
  /**
   * Several statements in one transaction, in one round trip where the driver can. With an epoch, throws
   * `DatabaseReplaced` before anything is sent where that is no longer the database's.
   */
  batch(statements: readonly Sql[], epoch?: number): Promise<readonly (readonly Row[])[]>;
  /** `foreign` says that code of the user's runs inside, which must not come back for a second connection. */
  transaction<T>(work: (session: Session, tx: Tx) => Promise<T>, foreign?: boolean): Promise<T>;
  /** The caller's own open transaction. */
  join(tx: Tx): Session;
  /** Throws where the caller is inside a `foreign` transaction of this database, before it waits for a second one. */
  refuseInside?(): void;
  /** Calls back when somebody notified. A hint only: undefined where there is none, and it may be late or lost. */
  listen?(onNotice: () => void): () => void;
  /** Closes the connections that Amends opened. */
  close(): Promise<void>;
}
