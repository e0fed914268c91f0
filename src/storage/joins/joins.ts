/**
 * The port to a caller's transaction: how the statements of Amends reach the open transaction of a database client. Each
 * client has one small adapter, such as `drizzle(db)`; `pg` clients are the default. An adapter decides nothing about
 * statements: it carries a text and its parameters, and returns rows.
 */
import type { Row } from "../database.ts";
import type { SqliteHandle } from "../sqlite/driver.ts";

/**
 * A statement in the form that every client can carry: each parameter is a text or null, and the server reads the text
 * as the type that the statement names.
 */
export interface CarriedStatement {
  /** The statement with `$1`, `$2` … in the order of `values`. */
  readonly text: string;
  /** The same text in parts: one parameter stands between each two of them. */
  readonly strings: readonly string[];
  /** The parameters. */
  readonly values: readonly (string | null)[];
}

/** How Amends joins the transactions of one client. Made by an adapter, such as `drizzle(db)` of `amends/drizzle`. */
export interface Joins<Tx> {
  /** The database of the client. */
  readonly dialect: "postgres";
  /** The name of the client, as messages say it. */
  readonly client: string;
  /** Only for the compiler: the type of the open transaction. */
  readonly tx?: Tx;
  /**
   * Refuses a value that is not a transaction of this client, or no longer an open one, with an error that shows the right line.
   * Returns true if the client knows that the transaction is open; false if the database must be asked.
   */
  check(tx: Tx): boolean;
  /** Runs one statement in the transaction and returns its rows. */
  query(tx: Tx, statement: CarriedStatement): Promise<readonly Row[]>;
  /** Runs work in a new transaction of the client, for transactional steps. It commits if the work resolves. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * What the client keeps for all transactions on one database, so that the database is checked once. Undefined: it is
   * checked for every transaction.
   */
  origin?(tx: Tx): object | undefined;
}

/** How Amends joins the transactions of a client on SQLite. Made by an adapter, such as `drizzleSqlite(db)`. */
export interface SqliteJoins<Tx> {
  /** The database of the client. */
  readonly dialect: "sqlite";
  /** The name of the client, as messages say it. */
  readonly client: string;
  /** The handle that has the transaction. Throws, with the right line, if `tx` is not a transaction of this client. */
  handleOf(tx: Tx): SqliteHandle;
}
