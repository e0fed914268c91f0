/**
 * Sequelize 6 on PostgreSQL: `postgres({ url, joins: sequelize(db) })`. `tx` is the transaction of
 * `db.transaction(async (t) => …)` or of `await db.transaction()`.
 */
import type { Row } from "./storage/database.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** A database of Sequelize, as far as Amends uses it. */
export interface SequelizeDatabase<Tx> {
  /** Begins a transaction, which gives the transactions their type. */
  transaction(): Promise<Tx>;
}

/** What Sequelize and its transactions have at run time. */
interface Sequelize<Tx> {
  transaction<T>(work: (transaction: Tx) => Promise<T>): Promise<T>;
  query(
    text: string,
    options: { bind: unknown[]; transaction: unknown; raw: true },
  ): Promise<[Row[], unknown]>;
}

interface Transaction {
  readonly sequelize: Sequelize<unknown>;
  commit?: unknown;
  readonly finished?: "commit" | "rollback";
}

const LINE = "sequelize.transaction((t) => amends.start(saga, input, { id, tx: t }))";

/** Joins transactions of Sequelize. The steps' transactions are opened on `db`. */
export function sequelize<Tx>(db: SequelizeDatabase<Tx>): Joins<Tx> {
  return {
    dialect: "postgres",
    client: "sequelize",
    check(tx) {
      const { commit, finished, sequelize: owner } = (tx ?? {}) as Partial<Transaction>;
      if (typeof commit !== "function" || typeof owner?.query !== "function" || finished !== undefined) {
        throw notTransaction("sequelize", LINE);
      }
      return true;
    },
    async query(tx, { text, values }: CarriedStatement) {
      const { sequelize: owner } = tx as Transaction;
      const [rows] = await owner.query(text, { bind: [...values], transaction: tx, raw: true });
      return rows;
    },
    transaction: (work) => (db as unknown as Sequelize<Tx>).transaction(work),
    origin: (tx) => (tx as Transaction).sequelize,
  };
}

export type { CarriedStatement, Joins };
