/**
 * Prisma 7 on PostgreSQL, with its driver adapter: `postgres({ url, joins: prisma(client) })`. `tx` is the transaction of
 * `client.$transaction(async (tx) => …)`.
 */
import type { Row } from "./storage/database.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** The time limits of an interactive transaction of Prisma, in milliseconds. */
export interface PrismaTransactionOptions {
  /** How long the transaction may take. Prisma's default: 5000. */
  readonly timeout?: number;
  /** How long to wait for a connection. Prisma's default: 2000. */
  readonly maxWait?: number;
}

/** A client of Prisma, as far as Amends uses it. */
export interface PrismaDatabase<Tx> {
  /** Runs work in an interactive transaction. */
  $transaction<T>(work: (tx: Tx) => Promise<T>, options?: PrismaTransactionOptions): Promise<T>;
}

/** What Prisma's transactions have at run time. */
interface Transaction {
  $queryRawUnsafe(text: string, ...values: (string | null)[]): Promise<Row[]>;
  /** Only the client itself can connect. */
  readonly $connect?: unknown;
}

/** Prisma's code for a statement in a transaction that has ended. */
const ENDED = "P2028";

const LINE = "prisma.$transaction((tx) => amends.start(saga, input, { id, tx }))";

/** Joins transactions of Prisma. The steps' transactions are opened on the client, with `options`. */
export function prisma<Tx>(client: PrismaDatabase<Tx>, options: PrismaTransactionOptions = {}): Joins<Tx> {
  return {
    dialect: "postgres",
    client: "prisma",
    check(tx) {
      const { $queryRawUnsafe, $connect } = (tx ?? {}) as Partial<Transaction>;
      if (typeof $queryRawUnsafe !== "function" || typeof $connect === "function") {
        throw notTransaction("prisma", LINE);
      }
      // A transaction that has ended runs no statement.
      return true;
    },
    async query(tx, { text, values }: CarriedStatement) {
      const rows: unknown = await (tx as Transaction)
        .$queryRawUnsafe(text, ...values)
        .catch((error: unknown) => {
          throw (error as { code?: unknown } | undefined)?.code === ENDED
            ? notTransaction("prisma", LINE)
            : error;
        });
      if (!Array.isArray(rows)) throw notTransaction("prisma", LINE);
      return rows as Row[];
    },
    transaction: (work) => client.$transaction(work, { ...options }),
  };
}

export type { CarriedStatement, Joins };
