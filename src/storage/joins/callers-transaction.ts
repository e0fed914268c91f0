/**
 * The caller's own transaction, given as `tx`. It is checked before its first statement, so that nothing is written
 * outside of that transaction: the client refuses what is no open transaction of its own, the database confirms an open
 * transaction that the client cannot confirm, and the database must be the one that Amends has. The check costs nothing
 * for a client that is known and says that its transaction is open, and at most two round trips for any other.
 */
import { AmendsError } from "../../core/errors.ts";
import { inTime, systemClock } from "../clock.ts";
import type { Dialect, JoinedSession, Row, Session } from "../database.ts";
import type { CarriedStatement, Joins } from "./joins.ts";
import type { Sql } from "../sql.ts";
import { markTransaction, placeOf, readMark } from "./callers-queries.ts";
import { asItIs, carried } from "./carried-statement.ts";
import { Holds } from "./holds.ts";
import { rowsOf } from "./joined-rows.ts";
import { isDatabaseError } from "./wrapped-error.ts";

/** The same for every check: operations that run at once in one transaction mark it in any order. */
const MARK = "open";

/** The port to a caller's transactions, which Amends joins and does not open. */
export interface CallerJoins<Tx> extends Omit<Joins<Tx>, "transaction"> {
  /** True if this client sends statements exactly as Amends' own connections do. */
  isOwnDriver?(tx: Tx): boolean;
}

export interface CallerOptions<Tx> {
  readonly joins: CallerJoins<Tx>;
  /** The dialect whose parameters every client can carry. */
  readonly dialect: Dialect;
  /** The dialect of Amends' own connections, for clients of the same driver. */
  readonly ownDialect: Dialect;
  readonly schema: string;
  /** How long the check waits for the client. A client may never answer a transaction that has ended. */
  readonly checkMs: number;
  /**
   * The database of Amends' own connections; undefined if that cannot be queried, or not without waiting for the caller.
   * `anew` queries again, because a restart changes the value.
   */
  ownPlace(anew: boolean): Promise<string | undefined>;
}

export class CallerTransactions<Tx> {
  readonly #options: CallerOptions<Tx>;
  /** What is known to be connected to the same database: a transaction, or its origin. */
  readonly #known = new WeakSet<object>();
  readonly #holds = new Holds();

  constructor(options: CallerOptions<Tx>) {
    this.#options = options;
  }

  /** A session in the caller's open transaction. Throws if `tx` is not a transaction of the client. */
  join(tx: Tx): JoinedSession {
    const isOpen = this.#options.joins.check(tx);
    let checked: Promise<void> | undefined;
    const check = (): Promise<void> => (checked ??= this.#check(tx, isOpen));
    const session = this.#session(tx, check);
    return {
      ...session,
      // The check has a time limit, and is over before other operations wait.
      alone: async (work) => {
        await check();
        return this.#holds.run(tx as object, () => work(session));
      },
    };
  }

  /** A session in a transaction that the client has just opened. Application code sees `tx` only on the right database. */
  async begun(tx: Tx): Promise<Session> {
    await this.#check(tx, true);
    return this.#session(tx, async () => undefined);
  }

  /** Amends' own connection: application code in a transaction of Amends may pass it as `tx`. */
  know(client: object): void {
    this.#known.add(client);
  }

  /** One statement at a time: not every client queues statements that are sent together. */
  #session(tx: Tx, check: () => Promise<void>): Session {
    const { joins, dialect, ownDialect } = this.#options;
    const isOwnDriver = joins.isOwnDriver?.(tx) === true;
    let last: Promise<unknown> = Promise.resolve();
    const run = async (statement: Sql): Promise<readonly Row[]> => {
      await check();
      while (this.#holds.isHeld(tx as object)) await this.#holds.turn(tx as object);
      return this.#send(tx, isOwnDriver ? asItIs(statement) : carried(statement));
    };
    return {
      dialect: isOwnDriver ? ownDialect : dialect,
      query: (statement) => {
        const answer = last.then(() => run(statement));
        last = answer.catch(() => undefined);
        return answer;
      },
    };
  }

  async #send(tx: Tx, statement: CarriedStatement): Promise<readonly Row[]> {
    const { joins } = this.#options;
    return rowsOf(joins.client, await joins.query(tx, statement));
  }

  async #check(tx: Tx, isOpen: boolean): Promise<void> {
    const { joins, checkMs } = this.#options;
    const origin = joins.origin?.(tx) ?? (tx as object);
    if (isOpen && this.#known.has(origin)) return;
    // The clock is the real one: a virtual clock does not move while another library is silent.
    const place = await inTime(systemClock, checkMs, this.#probe(tx, isOpen), () =>
      unanswered(joins.client, checkMs),
    );
    if (this.#known.has(origin)) return;
    await this.#checkPlace(place);
    this.#known.add(origin);
  }

  /** The database of the transaction, once the transaction is known to be open. */
  async #probe(tx: Tx, isOpen: boolean): Promise<unknown> {
    const { schema } = this.#options;
    const [row] = await this.#first(tx, isOpen ? placeOf(schema) : markTransaction(schema, MARK));
    if (!isOpen) await this.#checkOpen(tx);
    return row?.["place"];
  }

  /** The first statement. If the client itself refuses it, the transaction has ended. */
  async #first(tx: Tx, statement: Sql): Promise<readonly Row[]> {
    try {
      return await this.#send(tx, carried(statement));
    } catch (error) {
      if (error instanceof AmendsError || isDatabaseError(error)) throw error;
      throw notBegun(this.#options.joins.client, error);
    }
  }

  /** Outside of a transaction the mark ends with its own statement. */
  async #checkOpen(tx: Tx): Promise<void> {
    const [row] = await this.#send(tx, carried(readMark()));
    if (row?.["mark"] === MARK) return;
    throw notBegun(this.#options.joins.client);
  }

  async #checkPlace(place: unknown): Promise<void> {
    const { joins, schema } = this.#options;
    if (typeof place !== "string") {
      throw new AmendsError(
        "SCHEMA_MISSING",
        `The database of the ${joins.client} transaction given as \`tx\` has no tables of Amends in the schema ${schema}. Run \`await amends.migrate()\`, or pass a transaction on the database that Amends has.`,
      );
    }
    if (await this.#isOurs(place)) return;
    throw new AmendsError(
      "BAD_OPTION",
      `The ${joins.client} transaction given as \`tx\` is on another database than this Amends. Nothing was written.`,
    );
  }

  async #isOurs(place: string): Promise<boolean> {
    for (const anew of [false, true]) {
      const own = await this.#options.ownPlace(anew);
      if (own === undefined || own === place) return true;
    }
    return false;
  }
}

export function notBegun(client: string, cause?: unknown): AmendsError {
  return new AmendsError(
    "NEEDS_TRANSACTION",
    `The ${client} client given as \`tx\` has no open transaction. Begin one first. Nothing was written.`,
    {},
    { cause },
  );
}

function unanswered(client: string, ms: number): AmendsError {
  return new AmendsError(
    "NEEDS_TRANSACTION",
    `The ${client} transaction given as \`tx\` did not answer within ${ms} ms: it has ended, or its connection is lost. Begin one first. Nothing was written.`,
  );
}
