/**
 * postgres.js: `postgres({ url, joins: postgresJs(sql) })`. `tx` is the transaction of `sql.begin(async (tx) => …)`, or of a
 * savepoint inside it.
 */
import type { Row } from "./storage/database.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** The `sql` of postgres.js, as far as Amends uses it. */
export interface PostgresJsSql<Tx> {
  /** Runs work in a transaction. */
  begin(options: string, work: (sql: Tx) => unknown): Promise<unknown>;
}

/** What its transactions have at run time. */
interface Transaction {
  unsafe(text: string, values: (string | null)[]): PromiseLike<Row[]>;
  savepoint?: unknown;
}

const LINE = "sql.begin((tx) => amends.start(saga, input, { id, tx }))";

/** Joins transactions of postgres.js. The steps' transactions are opened on `sql`. */
export function postgresJs<Tx>(sql: PostgresJsSql<Tx>): Joins<Tx> {
  return {
    dialect: "postgres",
    client: "postgresJs",
    check(tx) {
      // A transaction is a function with properties. Only a transaction has savepoints.
      const { unsafe, savepoint } = (tx ?? {}) as Partial<Transaction>;
      if (typeof unsafe !== "function" || typeof savepoint !== "function") {
        throw notTransaction("postgresJs", LINE);
      }
      return false;
    },
    query: async (tx, { text, values }: CarriedStatement) => (tx as Transaction).unsafe(text, [...values]),
    async transaction(work) {
      type End = Awaited<ReturnType<typeof work>>;
      let end: { readonly value: End } | undefined;
      // A list that the work returns would be taken for statements.
      await sql.begin("", async (tx) => {
        end = { value: await work(tx) };
      });
      return (end as { readonly value: End }).value;
    },
  };
}

export type { CarriedStatement, Joins };
