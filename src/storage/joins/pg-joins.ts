/** Transactions of the `pg` package: the default. `tx` is a client with an open transaction. */
import type { ClientBase, Pool } from "pg";
import { AmendsError } from "../../core/errors.ts";
import type { Row } from "../database.ts";
import { notBegun, type CallerJoins } from "./callers-transaction.ts";

/** `pg` 8.16 and newer can say whether a transaction is open. */
type Client = ClientBase & { getTransactionStatus?(): string | null };

const LINE =
  "Take a client with `await pool.connect()`, begin a transaction on it with `await client.query('begin')`, and pass that client.";

/** Amends opens the transactions of steps on its own connections. */
export const pgJoins: CallerJoins<ClientBase> = {
  dialect: "postgres",
  client: "pg",
  isOwnDriver: isPg,
  check(tx: Client) {
    if (typeof (tx as Partial<Client> | undefined)?.query !== "function") {
      throw new AmendsError(
        "BAD_OPTION",
        "`tx` must be a `pg` client, the one that has your open transaction. For another client choose its adapter, as in `postgres({ url, joins: drizzle(db) })`: docs/guides/your-client.md.",
      );
    }
    refuseNative(tx);
    if (isPool(tx)) {
      throw new AmendsError(
        "BAD_OPTION",
        `\`tx\` is a pool: each of its statements would commit by itself. ${LINE}`,
      );
    }
    const status = tx.getTransactionStatus?.();
    if (status === "I") throw notBegun("pg");
    return typeof status === "string";
  },
  async query(tx, { text, values }) {
    const answer: unknown = await tx.query(text, [...values]);
    // Undefined is refused by the mapping of rows.
    return (answer as { readonly rows?: unknown } | null | undefined)?.rows as Row[];
  },
};

/**
 * A client of `pg` itself, of whatever copy of the package, has the connection on which it binds parameters. What merely has its
 * methods, or a `query` of its own, may change a Buffer.
 */
function isPg(tx: object): boolean {
  const { connection } = tx as { readonly connection?: { readonly bind?: unknown } | null };
  return typeof connection?.bind === "function" && !Object.hasOwn(tx, "query");
}

function isPool(tx: object): boolean {
  const { totalCount, idleCount } = tx as Partial<Pool>;
  return typeof totalCount === "number" && typeof idleCount === "number";
}

/** Own arrays are sent in binary format, which that binding does not support: it would write wrong values. */
export function refuseNative(client: object): void {
  if (!("native" in client)) return;
  throw new AmendsError(
    "BAD_OPTION",
    "`pg-native` cannot send what Amends sends. Use the `pg` package's own client or pool.",
  );
}
