/**
 * The database port: what every part asks of a database, and all that an adapter has to give. One operation takes
 * at most one connection, and nothing is held between two calls except inside `transaction`.
 */
import type { ErrorCode } from "../core/errors.ts";
import type { Clock } from "./clock.ts";
import type { Sql } from "./sql.ts";

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

/** `unique`: the table that has such a key already. `check`: the name of the condition that a row did not meet. */
export interface Violation {
  readonly kind: "unique" | "check";
  readonly name: string;
}

export interface Column {
  readonly name: string;
  readonly type: "text" | "int" | "bigint" | "uuid";
  /** What it nearly always is. Where that goes for all rows and all such columns, none of them has to travel. */
  readonly usual?: string | number | null;
}

/** The stage of the one row that answers for a whole chain. */
export const ALL_EXPECTED = "all as usual";

/** One write of a chain. */
export interface Stage {
  readonly name: string;
  readonly statement: Sql;
  /**
   * It returns rows for whoever asked, so many if everything goes as it should. All stages that do have the same
   * columns, and may have others.
   */
  readonly usual?: number | undefined;
  /** Where it has another number of rows, nothing of the chain is written: `isRefused` knows the error. */
  readonly must?: boolean | undefined;
  /** Which of its rows count and are returned; all, unless it says so. */
  readonly only?: Sql | undefined;
  /** The columns of the answer, over what it returns, where that is cheaper than to return them for every row. */
  readonly as?: Sql | undefined;
  /** It only locks or gathers for later stages: nothing where they come one by one. */
  readonly forOthers?: boolean;
}

/** The first rows of a table, in an order, under a condition: both over `x`. */
export interface FirstRows {
  readonly table: Sql;
  readonly columns: readonly string[];
  readonly where: Sql;
  readonly order: Sql;
}

/** The words in which the two databases differ. */
export interface Dialect {
  readonly name: "postgres" | "sqlite";
  table(name: string): Sql;
  /** The instant of this statement, by the database's clock (or the test kit's). */
  now(): Sql;
  /** An instant some milliseconds later. */
  plusMs(instant: Sql, ms: Sql | number): Sql;
  /** The instant so many milliseconds after the epoch. */
  instantOf(ms: Sql | number): Sql;
  /** An instant as milliseconds since the epoch. */
  epochMs(instant: Sql): Sql;
  /** A gate that can be compared through an index: an empty one is always open. */
  gate(column: Sql): Sql;
  /** Locks the rows of this alias; on a database with one writer there is nothing to lock. */
  forUpdateOf(alias: string): Sql;
  readonly skipLocked: Sql;
  /** Rows as a relation with these columns: one parameter per column or one for all, however many rows. */
  rows(columns: readonly Column[], rows: readonly (readonly unknown[])[]): Sql;
  /** `column` is one of these. */
  among(column: Sql, values: readonly string[], type?: "text" | "bigint"): Sql;
  /**
   * Joins, to each row of what stands before it in the FROM, the first so many of the rows of a query with the one
   * column `value`, as `first(value)`. `countMax` is the most that `count` can be.
   */
  joinFirst(query: Sql, count: Sql, countMax: number): Sql;
  /** The same with whole rows of a table, found by its `id`: these columns of them, as `s`. */
  joinRows(rows: FirstRows, count: Sql, countMax: number): Sql;
  /** The text contains this one, letter by letter. */
  contains(text: Sql, part: string): Sql;
  /** Two writes of one transaction, the first before the second: as one statement where the database can. */
  together(first: Sql, second: Sql): readonly Sql[];
  /**
   * Several writes of one transaction, each of which may depend on what those before it wrote: as one statement where
   * the database can, which then answers with these columns of all stages that have an answer; else in turn. Where it
   * can, and all stages have as many rows as usual, they are not listed: one row with the stage `ALL_AS_USUAL` and the
   * instant `at` answers for all of them.
   */
  chain(stages: readonly Stage[], columns: readonly string[]): readonly Sql[];
  /** How a stage of a chain looks at an earlier one: by its name where it can, else by what it left in the tables. */
  linked<T>(byName: T, byTable: T): T;
  /** The first word of a text, without the given characters at its end. */
  firstWord(column: Sql, without: string): Sql;
  /** Wakes whoever listens once the transaction commits; undefined where the database cannot. */
  notify(): Sql | undefined;
  trouble(error: unknown): Trouble;
  /** A key that exists already. */
  isDuplicate(error: unknown): boolean;
  /** Which rule of a table a statement broke; undefined where it failed for another reason. */
  violated(error: unknown): Violation | undefined;
  /** A chain in which a stage did not have as many rows as it must. */
  isRefused(error: unknown): boolean;
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

export interface Database<Tx = unknown> {
  readonly dialect: Dialect;
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
  close(): Promise<void>;
}
