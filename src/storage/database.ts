/**
 * The database port: the interface that every database adapter implements. One operation takes at most one
 * connection, and nothing is held between two calls except inside `transaction`.
 */
import type { ErrorCode } from "../core/errors.ts";
import type { Clock } from "./clock.ts";
import type { Fields } from "./fields.ts";
import type { Sql } from "./sql.ts";

/** A row as a driver returns it. `table` and `projection` read it (table.ts). */
export type Row = Readonly<Record<string, unknown>>;

/** The meaning of a database error for the failed work. */
export interface Trouble {
  /**
   * `transient`: nothing was committed, a retry may help. `unknown`: the connection was lost and the commit may or
   * may not have happened, so the work is read again before it is repeated. `permanent`: the statement is at fault.
   */
  readonly kind: "transient" | "unknown" | "permanent";
  readonly code: ErrorCode;
  /** Another transaction holds a lock on one of the rows. */
  readonly blocked?: boolean;
}

/** The constraint that a statement violated. */
export type Violation =
  /** An optimistic write found an unmet expectation (write/checked-write.ts). */
  | { readonly kind: "refused" }
  /**
   * The key exists already. PostgreSQL names its constraint, SQLite its columns. A table that does not belong to
   * Amends keeps its full name.
   */
  | {
      readonly kind: "unique";
      readonly table: string;
      readonly constraint: string | undefined;
      readonly columns: readonly string[] | undefined;
    };

/** The SQL fragments in which the two databases differ. Every statement is written once, with these fragments. */
export interface Dialect {
  readonly name: "postgres" | "sqlite";
  /** Selects one of two values by database. */
  pick<T>(of: { readonly postgres: T; readonly sqlite: T }): T;
  table(name: string): Sql;
  /** The instant of this statement, by the database's clock (or the test kit's). */
  now(): Sql;
  /** An instant plus milliseconds. */
  plusMs(instant: Sql, ms: Sql | number): Sql;
  /** The instant of milliseconds since the epoch. */
  instantOf(ms: Sql | number): Sql;
  /** An instant as milliseconds since the epoch. */
  epochMs(instant: Sql): Sql;
  /** Locks the rows of this alias; empty on a database with one writer. `skip locked` skips locked rows. */
  forUpdateOf(alias: string, wait?: "skip locked"): Sql;
  /** These objects as a relation `r` with these fields: one parameter per field or one for all, however many objects. */
  rows<From>(fields: Fields<From>, from: readonly From[]): Sql;
  /** `column` is one of these. */
  among(column: Sql, values: readonly string[], type?: "text" | "bigint"): Sql;
  /** Notifies listening workers when the transaction commits; undefined if the database cannot. */
  notify(): Sql | undefined;
  trouble(error: unknown): Trouble;
  /** Undefined if the statement failed for another reason. */
  violation(error: unknown): Violation | undefined;
}

/** The server was replaced since the work was prepared. Nothing was sent. */
export class DatabaseReplaced extends Error {
  constructor() {
    super("the database was replaced");
  }
}

/**
 * Thrown from inside a transaction that running work still uses: the connection is destroyed instead of rolled
 * back, so that later statements of that work can never commit.
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

/** Statements inside an open transaction of the caller. */
export interface JoinedSession extends Session {
  /** Runs work in which no other operation of Amends sends statements in this transaction: work in a savepoint. */
  alone<T>(work: (session: Session) => Promise<T>): Promise<T>;
}

/** Statements inside a synchronous transaction of the caller, such as `db.transaction(fn)` of better-sqlite3. */
export interface SyncSession {
  readonly dialect: Dialect;
  query(statement: Sql): readonly Row[];
}

/** What stands between Amends and the server, and what Amends trusts the server with. */
export interface DatabaseAccess {
  /** A pooler lends each transaction another connection of the server. */
  readonly isPooled: boolean;
  /** The server does not sync its log to disk itself, and `durability: "server"` accepts that. */
  readonly trustsServer: boolean;
}

/** A database, made by `postgres(…)` or `sqlite(…)`. Pass it to `new Amends`. */
export interface Database<Tx = unknown> {
  /** The SQL dialect. Parts of Amends use it. */
  readonly dialect: Dialect;
  /** The clock of this process, or a virtual one in tests. */
  readonly clock: Clock;
  /**
   * The client whose transactions application code passes as `tx` and receives in transactional steps, if one was chosen
   * with `joins`. Undefined: the database's own driver.
   */
  readonly client?: string | undefined;
  /** The largest number of connections; undefined if there is only one. */
  readonly connections?: number;
  /**
   * How long a call that a caller waits for may take in all, retries included. Undefined: the number of retries is the
   * only limit.
   */
  readonly callMs?: number;
  /**
   * Rises when the server was replaced or has lost commits, as in a failover: earlier reads may no longer hold.
   * Undefined if that cannot happen unnoticed.
   */
  readonly epoch?: number;
  /** Host and port of the server, for messages; undefined for a file. It never has a user or a password. */
  readonly address?: string | undefined;
  /** How the server is reached; PostgreSQL only. Known after `open`. */
  readonly access?: DatabaseAccess;
  /** Calls back when the epoch has risen. */
  onReplaced?(listener: () => void): () => void;
  /** Connects, and throws if the database cannot give the guarantees of Amends. It can be called again. */
  open(): Promise<void>;
  /** Runs one statement in its own transaction. `limitMs` shortens the wait for the answer. */
  query(statement: Sql, limitMs?: number): Promise<readonly Row[]>;
  /** Runs a statement that refuses to be part of a transaction, without a time limit. PostgreSQL only. */
  alone?(statement: Sql): Promise<void>;
  /**
   * Runs several statements in one transaction, in one round trip if the driver can. Throws `DatabaseReplaced` before
   * anything is sent if `epoch` is given and is no longer the current one.
   */
  batch(statements: readonly Sql[], epoch?: number): Promise<readonly (readonly Row[])[]>;
  /**
   * Runs work in a transaction. `foreign` means that the work calls user code, which must not ask for a second
   * connection.
   */
  transaction<T>(work: (session: Session, tx: Tx) => Promise<T>, foreign?: boolean): Promise<T>;
  /** A session in the caller's open transaction. */
  join(tx: Tx): JoinedSession;
  /** The same for a synchronous transaction. Undefined if the database has none. */
  joinNow?(tx: Tx): SyncSession;
  /**
   * Throws if the caller is inside a `foreign` transaction of this database: a second connection would wait for the
   * first.
   */
  refuseInside?(): void;
  /**
   * Calls back on a notification from another process. Notifications are hints and may be late or lost. Undefined if
   * the database has none. `onHearing` is told whether notifications can arrive, each time that this changes; at first they cannot.
   */
  listen?(onNotice: () => void, onHearing?: (isHearing: boolean) => void): () => void;
  /** Closes the connections that Amends opened. */
  close(): Promise<void>;
}
