/**
 * Bun's SQL on PostgreSQL: `postgres({ url, joins: bunSql(sql) })`. `tx` is the transaction of `sql.begin(async (tx) => …)`, or of a
 * savepoint inside it. `bun:sqlite` needs no adapter: its handles fit `sqlite(handle)` and `amends.sync`.
 */
import { AmendsError } from "./core/errors.ts";
import type { Row } from "./storage/database.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** The `sql` of Bun, as far as Amends uses it. */
export interface BunSql<Tx> {
  /** Runs work in a transaction. */
  begin(options: string, work: (tx: Tx) => unknown): Promise<unknown>;
}

/** What `sql` and its transactions have at run time. */
interface Transaction {
  unsafe(text: string, values: (string | null)[]): PromiseLike<Row[]>;
  savepoint?: unknown;
  /** One object for a pool and all of its transactions. */
  readonly options?: { readonly adapter?: string };
}

/** `sql` without options. The compiler infers the type of a transaction from the form with options, Bun's last one. */
interface Root<Tx> {
  begin(work: (tx: Tx) => Promise<void>): Promise<unknown>;
}

/** Bun knows which transactions and savepoints have ended. */
const ENDED = "ERR_POSTGRES_INVALID_TRANSACTION_STATE";

const LINE = "sql.begin((tx) => amends.start(saga, input, { id, tx }))";

/** Joins transactions of Bun's SQL. The steps' transactions are opened on `sql`. */
export function bunSql<Tx>(sql: BunSql<Tx>): Joins<Tx> {
  const { adapter = "postgres" } = (sql as Partial<Transaction>).options ?? {};
  if (adapter !== "postgres") {
    throw new AmendsError(
      "BAD_OPTION",
      `\`bunSql\` joins transactions on PostgreSQL, and this SQL has the adapter "${adapter}". For SQLite, use \`bun:sqlite\` with \`sqlite(handle)\`.`,
    );
  }
  return {
    dialect: "postgres",
    client: "bunSql",
    check(tx) {
      // A transaction is a function with properties. Only a transaction has savepoints; a reserved connection has none.
      const { unsafe, savepoint } = (tx ?? {}) as Partial<Transaction>;
      if (typeof unsafe !== "function" || typeof savepoint !== "function") throw refusal();
      return true;
    },
    async query(tx, { text, values }: CarriedStatement) {
      try {
        return await (tx as Transaction).unsafe(text, [...values]);
      } catch (error) {
        throw (error as { code?: unknown } | undefined)?.code === ENDED ? refusal() : error;
      }
    },
    async transaction(work) {
      type End = Awaited<ReturnType<typeof work>>;
      let end: { readonly value: End } | undefined;
      // A list that the work returns would be taken for statements.
      await (sql as unknown as Root<Tx>).begin(async (tx) => {
        end = { value: await work(tx) };
      });
      return (end as { readonly value: End }).value;
    },
    origin: (tx) => (tx as Transaction).options,
  };
}

function refusal(): Error {
  return notTransaction("bunSql", LINE);
}

export type { CarriedStatement, Joins };
