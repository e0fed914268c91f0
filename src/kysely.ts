/**
 * Kysely on PostgreSQL: `postgres({ url, joins: kysely(db) })`. `tx` is the transaction of
 * `db.transaction().execute(async (trx) => …)` or of `db.startTransaction().execute()`.
 */
import { CompiledQuery } from "kysely";
import type { Row } from "./storage/database.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** A database of Kysely, as far as Amends uses it. */
export interface KyselyDatabase<Tx> {
  /** Begins a transaction. */
  transaction(): {
    /** Runs work in the transaction. */
    execute<T>(work: (trx: Tx) => Promise<T>): Promise<T>;
  };
}

/** What Kysely's transactions have at run time. */
interface Transaction {
  readonly isTransaction: boolean;
  readonly isCommitted?: boolean;
  readonly isRolledBack?: boolean;
  /** Plugins may rename the columns of the rows. */
  withoutPlugins(): { executeQuery(query: CompiledQuery): Promise<{ readonly rows: Row[] }> };
  /** The adapter is one object for all transactions of a database. */
  getExecutor(): { readonly adapter: object };
}

const LINE = "db.transaction().execute((trx) => amends.start(saga, input, { id, tx: trx }))";

/** Joins transactions of Kysely. The steps' transactions are opened on `db`. */
export function kysely<Tx>(db: KyselyDatabase<Tx>): Joins<Tx> {
  return {
    dialect: "postgres",
    client: "kysely",
    check(tx) {
      const { isTransaction, isCommitted, isRolledBack } = (tx ?? {}) as Partial<Transaction>;
      if (isTransaction !== true || isCommitted === true || isRolledBack === true) {
        throw notTransaction("kysely", LINE);
      }
      return false;
    },
    async query(tx, { text, values }: CarriedStatement) {
      const client = (tx as Transaction).withoutPlugins();
      return (await client.executeQuery(CompiledQuery.raw(text, [...values]))).rows;
    },
    transaction: (work) => db.transaction().execute(work),
    origin: (tx) => (tx as Transaction).getExecutor().adapter,
  };
}

export type { CarriedStatement, Joins };
