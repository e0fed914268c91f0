/** A database client under test: what the suite needs of it, written with the client's own interface. */
import type { Joins } from "amends/postgres";
import type { TransactionKind } from "amends/sagas";

/** An open client. `Tx` is the type of its transactions. */
export interface OpenClient<Tx = unknown> {
  /** Undefined for `pg`, which needs no adapter. */
  readonly joins: Joins<Tx> | undefined;
  /** What `transaction` of a step takes. */
  readonly kind: TransactionKind<Tx>;
  /** A transaction that commits if the work resolves. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A savepoint, or what the client calls a nested transaction, inside `tx`. */
  nested<T>(tx: Tx, work: (inner: Tx) => Promise<T>): Promise<T>;
  /** Inserts a row into the application's own table `notes`. */
  write(tx: Tx, text: string): Promise<unknown>;
  /** What is no open transaction, by name. */
  roots(): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<unknown>;
}

export interface TestClient {
  readonly name: string;
  open(url: string, connections: number): Promise<OpenClient>;
}

/** Ties the parts of a client to one type of transaction. */
export function testClient<Tx>(
  name: string,
  open: (url: string, connections: number) => Promise<OpenClient<Tx>>,
): TestClient {
  return { name, open };
}
