/**
 * The caller's own transaction, given as `tx`. It is checked before its first statement, so that nothing is written
 * outside of that transaction: a pool commits each statement by itself, an ORM client returns another result
 * format, and a client may be connected to another database. The check costs one round trip for each client, once,
 * and two more for each use of a client that cannot say whether it has an open transaction.
 */
import type { ClientBase, Pool } from "pg";
import { AmendsError } from "../../core/errors.ts";
import type { Dialect, Row, Session } from "../database.ts";
import { raw, sql, type Sql } from "../sql.ts";

export interface CallerOptions {
  readonly dialect: Dialect;
  readonly schema: string;
  /**
   * The database of Amends' own connections; undefined if that cannot be queried, or not without waiting for the caller.
   * `anew` queries again, because a restart changes the value.
   */
  ownPlace(anew: boolean): Promise<string | undefined>;
}

type Caller = ClientBase & { getTransactionStatus?(): string | null };

/** Without an open transaction PostgreSQL refuses a savepoint, without any effect. */
const ASK_TRANSACTION: readonly Sql[] = [raw("savepoint amends_tx"), raw("release savepoint amends_tx")];
const NO_TRANSACTION = "25P01";

export class CallerTransactions {
  readonly #options: CallerOptions;
  /** Clients that are known to be connected to the same database. */
  readonly #known = new WeakSet<object>();

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** A session in the caller's open transaction. Throws if `tx` is not a client. */
  join(tx: ClientBase): Session {
    checkClient(tx);
    let checked: Promise<void> | undefined;
    return {
      dialect: this.#options.dialect,
      query: async (statement) => {
        await (checked ??= this.#check(tx));
        return send(tx, statement);
      },
    };
  }

  /** Amends' own connection: application code in a transaction of Amends may pass it as `tx`. */
  know(client: ClientBase): void {
    this.#known.add(client);
  }

  async #check(tx: Caller): Promise<void> {
    if (typeof tx.getTransactionStatus !== "function") await checkOpen(tx);
    if (this.#known.has(tx)) return;
    const [row] = await send(tx, placeOf(this.#options.schema));
    const place = row?.["place"] as string | null | undefined;
    if (typeof place !== "string") {
      throw new AmendsError(
        "SCHEMA_MISSING",
        `The database of the client given as \`tx\` has no tables of Amends in the schema ${this.#options.schema}. Run \`await amends.migrate()\`, or pass a client that is connected to the database that Amends has.`,
      );
    }
    if (!(await this.#isOurs(place))) {
      throw new AmendsError(
        "BAD_OPTION",
        "The client given as `tx` is connected to another database than this Amends. Nothing was written.",
      );
    }
    this.#known.add(tx);
  }

  async #isOurs(place: string): Promise<boolean> {
    for (const anew of [false, true]) {
      const own = await this.#options.ownPlace(anew);
      if (own === undefined || own === place) return true;
    }
    return false;
  }
}

/**
 * Identifies the database: two servers may have databases of the same name, but different start times. The start time is
 * a number, because the text of an instant depends on the time zone of the session.
 */
export function placeOf(schema: string): Sql {
  const name = `${schema}.saga_executions`;
  return sql`select current_database() || '/' || to_regclass(${name}::text)::oid || '/'
    || (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as place`;
}

async function checkOpen(tx: ClientBase): Promise<void> {
  try {
    for (const statement of ASK_TRANSACTION) await send(tx, statement);
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code === NO_TRANSACTION) throw noTransaction();
    throw error;
  }
}

async function send(tx: ClientBase, { text, values }: Sql): Promise<readonly Row[]> {
  const answer: unknown = await tx.query({ text, values: [...values] });
  const rows = (answer as { readonly rows?: unknown } | null | undefined)?.rows;
  if (Array.isArray(rows)) return rows as Row[];
  throw new AmendsError(
    "BAD_OPTION",
    "`tx` does not answer like a client of the `pg` package. Pass the `pg` client that your library has below it.",
  );
}

/** A pool, or a client without an open transaction, would commit each statement by itself. */
function checkClient(tx: Caller): void {
  if (typeof (tx as Partial<ClientBase> | undefined)?.query !== "function") {
    throw new AmendsError(
      "BAD_OPTION",
      "`tx` must be a `pg` client, the one that has your open transaction.",
    );
  }
  refuseNative(tx);
  if (isPool(tx)) {
    throw new AmendsError(
      "BAD_OPTION",
      "`tx` is a pool: each of its statements would commit by itself. Take a client with `await pool.connect()`, begin a transaction on it, and pass that client.",
    );
  }
  if (tx.getTransactionStatus?.() === "I") throw noTransaction();
}

function isPool(tx: object): boolean {
  const { totalCount, idleCount } = tx as Partial<Pool>;
  return typeof totalCount === "number" && typeof idleCount === "number";
}

function noTransaction(): AmendsError {
  return new AmendsError(
    "NEEDS_TRANSACTION",
    "The client given as `tx` has no open transaction. Begin one first.",
  );
}

/** Arrays are sent in binary format, which that binding does not support: it would write wrong values. */
export function refuseNative(client: object): void {
  if (!("native" in client)) return;
  throw new AmendsError(
    "BAD_OPTION",
    "`pg-native` cannot send what Amends sends. Use the `pg` package's own client or pool.",
  );
}
