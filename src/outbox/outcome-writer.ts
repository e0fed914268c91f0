/**
 * The outbox as workers see it, of whatever kind its entries are: claim, renew, settle. Settles of many claims share
 * commits. A claim is one statement and one commit for up to `limit` entries.
 */
import type { OutboxKind } from "../core/outbox/entry.ts";
import { renewalLimitMs } from "../storage/claim.ts";
import type { Database, Row } from "../storage/database.ts";
import { GroupWriter } from "../storage/group-writer.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import { claimEntries, noteRunning, renewEntries, type HeldEntry } from "./queries.ts";
import { settle, type Booked, type Settlement } from "./settle.ts";

/** So many outcomes that wait are worth a second commit beside the first, where the database has several writers. */
const PARALLEL_FROM = 250;
const ITEM_BYTES = 300;

export class OutboxWriter {
  readonly #db: Database;
  readonly #retryLimits: RetryLimits;
  readonly #writer: GroupWriter<Settlement, Booked>;

  constructor(host: Pick<PartContext, "database" | "closing" | "onTrouble">) {
    const { database } = host;
    this.#db = database;
    this.#retryLimits = retryLimitsOf(host);
    this.#writer = new GroupWriter({
      db: database,
      flush: (items) => settle(database, items),
      bytes: () => ITEM_BYTES,
      signal: host.closing,
      onTrouble: (error, attempt) => host.onTrouble(error, attempt),
      failFast: ({ failFast }) => failFast === true,
      ...(database.dialect.name === "postgres" && { parallelFrom: PARALLEL_FROM }),
    });
  }

  /** Transactions of settles so far, for whoever measures. */
  get flushes(): number {
    return this.#writer.flushes;
  }

  /** Rows of this kind that are due; of these names, where they are given. */
  claim(
    kind: OutboxKind,
    names: readonly string[] | undefined,
    limit: number,
    leaseMs: number,
    except: readonly string[] = [],
  ): Promise<readonly Row[]> {
    const statement = claimEntries(this.#db.dialect, kind, names, limit, leaseMs, except);
    return this.#persist(() => this.#db.query(statement));
  }

  /** Answers with the ids that are still held. */
  async renew(held: readonly HeldEntry[], leaseMs: number): Promise<ReadonlySet<string>> {
    const rows = await this.#persist(() =>
      this.#db.query(renewEntries(this.#db.dialect, held, leaseMs), renewalLimitMs(leaseMs)),
    );
    return new Set(rows.map((row) => row["entry_id"] as string));
  }

  /** The last try has not returned: it shows on the entry, which stays claimed. */
  async noteRunning({ entryId, token }: HeldEntry): Promise<void> {
    await this.#persist(() => this.#db.query(noteRunning(this.#db.dialect, entryId, token)));
  }

  settle(item: Settlement): Promise<Booked> {
    return this.#writer.submit(item);
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  #persist<T>(work: () => Promise<T>): Promise<T> {
    return persist(this.#db, work, this.#retryLimits);
  }
}
