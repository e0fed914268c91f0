/** A client with synchronous transactions on SQLite: what the suite needs of it, written with the client's own interface. */
import type { Database } from "amends/sqlite";

/** An open client. `Tx` is what the application passes as `tx`. */
export interface OpenSyncClient<Tx = unknown> {
  /** Amends, on a handle of its own of the same library. */
  readonly database: Database<Tx>;
  /** A transaction that commits if the work returns. */
  transaction<T>(work: (tx: Tx) => T): T;
  /** A savepoint, or what the client calls a nested transaction, inside `tx`. */
  nested<T>(tx: Tx, work: (inner: Tx) => T): T;
  /** Inserts a row into the application's own table `notes`. */
  write(tx: Tx, text: string): unknown;
  /** Reads outside of transactions. */
  rows(text: string): readonly unknown[];
  /** What is no open transaction, by name. */
  roots(): Readonly<Record<string, unknown>>;
  close(): void;
}

export interface SyncClient {
  readonly name: string;
  open(file: string): OpenSyncClient;
}

/** Ties the parts of a client to one type of transaction. */
export function syncClient<Tx>(name: string, open: (file: string) => OpenSyncClient<Tx>): SyncClient {
  return { name, open };
}

/** The application's own tables. */
export const SYNC_TABLES: string = `
  create table if not exists notes (text text primary key);
  create table if not exists users (id text primary key, name text);
  insert or ignore into users values ('ann', 'Ann'), ('bob', 'Bob'), ('cleo', 'Cleo'), ('dan', 'Dan');
`;
