/**
 * Knex on PostgreSQL: `postgres({ url, joins: knex(db) })`. `tx` is the transaction of `db.transaction(async (trx) => …)`
 * or of `await db.transaction()`.
 */
import type { Row } from "./storage/database.ts";
import { marked } from "./storage/joins/carried-statement.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** A database of Knex, as far as Amends uses it. */
export interface KnexDatabase<Tx> {
  /** Runs work in a transaction. */
  transaction<T>(work: (trx: Tx) => Promise<T>): Promise<T>;
}

/** What Knex's transactions have at run time. */
interface Transaction {
  readonly isTransaction?: boolean;
  isCompleted(): boolean;
  raw(text: string, values: readonly (string | null)[]): PromiseLike<{ readonly rows: Row[] }>;
  /** The configuration is one object for all transactions of a database. */
  readonly client?: { readonly config?: object };
}

const LINE = "db.transaction((trx) => amends.start(saga, input, { id, tx: trx }))";

/** Joins transactions of Knex. The steps' transactions are opened on `db`. */
export function knex<Tx>(db: KnexDatabase<Tx>): Joins<Tx> {
  return {
    dialect: "postgres",
    client: "knex",
    check(tx) {
      // A transaction is a function with properties.
      const { isTransaction, isCompleted } = (tx ?? {}) as Partial<Transaction>;
      if (isTransaction !== true || typeof isCompleted !== "function" || (tx as Transaction).isCompleted()) {
        throw notTransaction("knex", LINE);
      }
      return true;
    },
    query: async (tx, statement) => (await (tx as Transaction).raw(marked(statement), statement.values)).rows,
    transaction: (work) => db.transaction(work),
    origin: (tx) => (tx as Transaction).client?.config,
  };
}

export type { CarriedStatement, Joins };
