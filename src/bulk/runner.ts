/**
 * Carries bulk actions out, page by page, under a lease. Before a page begins, its items are stored in the row; the commit that counts a
 * page stores the next one. A worker that follows one that is gone therefore knows the page that was under way, and finds on record which
 * of its items were carried out: it carries out the others, and counts each item once.
 */
import { readItemResults, type ItemResult } from "../audit/item-record.ts";
import {
  itemRecordId,
  PAGE_SIZE,
  REFUSALS_KEPT,
  type BulkKind,
  type BulkRefusal,
} from "../core/bulk/action.ts";
import { afterPage, bulkMachine, type BulkState } from "../core/bulk/machine.ts";
import type { Page } from "../core/cursor.ts";
import { isOutage } from "../core/errors.ts";
import { lookFor } from "../runtime/duty.ts";
import { LeasePool, type Claimed } from "../runtime/lease-pool.ts";
import type { Lease } from "../runtime/lease.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import type { Row } from "../storage/database.ts";
import { retrying, type Reader } from "../storage/read/reader.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";
import { renewalLimitMs } from "../storage/claim.ts";
import { ItemRunner, type BulkTools, type Carried } from "./carry-out.ts";
import { itemsAfter } from "./items.ts";
import { claimBulks, commitPage, releaseBulk, renewBulks, untilBulkDue } from "./queries.ts";
import type { CheckedRequest } from "./request.ts";
import { BULK, type BulkRow } from "./rows.ts";

interface ClaimedBulk extends Claimed {
  readonly row: BulkRow;
}

/** A page that is under way, and what is known of the action. */
interface Under {
  readonly status: BulkState;
  readonly items: readonly string[];
  /** Where the next page begins; undefined if there is none. */
  readonly place: string | undefined;
  readonly refusals: readonly BulkRefusal[];
}

/** One bulk action at a time: what is alive has the other places, and the connections. */
const CAPACITY = 1;

export class BulkRunner {
  readonly pool: LeasePool<ClaimedBulk>;
  readonly #host: PartContext;
  readonly #kinds: readonly BulkKind[];
  readonly #items: ItemRunner;
  readonly #retryLimits: RetryLimits;

  constructor(host: PartContext, tools: BulkTools) {
    this.#host = host;
    this.#kinds = tools.erasures ? ["saga", "call", "erasure", "delivery"] : ["saga", "call", "delivery"];
    this.#retryLimits = retryLimitsOf(host, "bulk actions");
    this.#items = new ItemRunner(host, tools, this.#retryLimits);
    const { leaseMs } = host;
    this.pool = new LeasePool<ClaimedBulk>({
      name: "bulk",
      capacity: CAPACITY,
      clock: host.clock,
      leaseMs,
      look: lookFor(() => untilBulkDue(host.database.dialect, this.#kinds)),
      claim: async (limit, except) => {
        const options = { kinds: this.#kinds, limit, leaseMs, except };
        const rows = await this.#query(claimBulks(host.database.dialect, options));
        return rows.map((row) => BULK.read(row)).map((row) => ({ id: row.id, token: row.token, row }));
      },
      renew: async (held) => {
        const { database } = host;
        const statement = renewBulks(database.dialect, held, leaseMs);
        const limitMs = renewalLimitMs(leaseMs);
        const rows = await persist(database, () => database.query(statement, limitMs), this.#retryLimits);
        return new Set(rows.map((row) => row["id"] as string));
      },
      run: ({ row }, lease) => this.#run(row, lease),
      release: async (held) => {
        await this.#query(releaseBulk(host.database.dialect, held));
      },
      drained: () => Promise.resolve(),
      onBug: (error) => host.onBug(error),
    });
  }

  async #run(row: BulkRow, lease: Lease): Promise<void> {
    try {
      await this.#carryOut(row, lease);
    } catch (error) {
      if (!isOutage(error)) throw error;
      // The lease ends by itself, and a worker that reaches the database goes on.
      this.#host.warn({ bulk: row.id, error: error.code }, "amends: a bulk action waits for the database");
    }
  }

  async #carryOut(row: BulkRow, lease: Lease): Promise<void> {
    const request = JSON.parse(row.request) as CheckedRequest;
    const carried: Carried = { bulkId: row.id, request, reason: row.reason, by: row.by };
    let under = await this.#begun(row, request);
    // Only a page that another worker began may have items on record.
    let before = await this.#onRecord(row.page ? under : undefined, row.id);
    while (under && !bulkMachine.isTerminal(under.status)) {
      const results = await this.#page(carried, under, before, lease);
      if (!results) return this.#giveBack(row, lease);
      under = await this.#counted(row, request, under, results);
      before = new Map();
    }
    if (!under) lease.stop("lost");
  }

  /** A worker that stops does not wait for the end of the action. */
  async #giveBack(row: BulkRow, lease: Lease): Promise<void> {
    if (!lease.stopped) await this.#query(releaseBulk(this.#host.database.dialect, row));
  }

  /** The page under way: that of the row, or the first one, which is stored before any of its items is carried out. */
  async #begun(row: BulkRow, request: CheckedRequest): Promise<Under | undefined> {
    const { status, page, place, refusals } = row;
    if (page) return { status, items: page, place, refusals };
    const first = await this.#next(row, request, undefined);
    return this.#commit(row, { status, items: [], place: undefined, refusals }, NOTHING, first, false);
  }

  async #onRecord(under: Under | undefined, bulkId: string): Promise<ReadonlyMap<string, ItemResult>> {
    const ids = (under?.items ?? []).map((id) => itemRecordId(bulkId, id));
    return readItemResults(this.#reader, ids);
  }

  /** Undefined if the worker stops or has lost the action: the page is counted by the worker that follows. */
  async #page(
    carried: Carried,
    { items, status }: Under,
    before: ReadonlyMap<string, ItemResult>,
    lease: Lease,
  ): Promise<ReadonlyMap<string, ItemResult> | undefined> {
    const results = new Map<string, ItemResult>();
    for (const id of items) {
      const known = before.get(itemRecordId(carried.bulkId, id));
      if (known) results.set(id, known);
      // The worker that had the page is gone, and a person has stopped the action since: the rest is left.
      else if (status === "running") {
        if (lease.stopped || this.pool.isDraining) return undefined;
        results.set(id, await this.#items.run(carried, id));
      }
    }
    return results;
  }

  async #counted(
    row: BulkRow,
    request: CheckedRequest,
    under: Under,
    results: ReadonlyMap<string, ItemResult>,
  ): Promise<Under | undefined> {
    const { status, place } = under;
    const isLast = status === "stopping" || place === undefined;
    const next = isLast ? NO_PAGE : await this.#next(row, request, place);
    return this.#commit(row, under, results, next, isLast);
  }

  async #commit(
    row: BulkRow,
    under: Under,
    results: ReadonlyMap<string, ItemResult>,
    next: Page<string>,
    isLast: boolean,
  ): Promise<Under | undefined> {
    const refused = [...results].flatMap(([id, { outcome, code = "UnknownError" }]) =>
      outcome === "refused" ? [{ id, code }] : [],
    );
    const refusals = [...under.refusals, ...refused].slice(0, REFUSALS_KEPT);
    const [stored] = await this.#query(
      commitPage(this.#host.database.dialect, row, {
        done: results.size - refused.length,
        refused: refused.length,
        refusals,
        page: next.items,
        place: next.next,
        status: afterPage("running", isLast),
      }),
    );
    if (!stored) return undefined;
    return { status: stored["status"] as BulkState, items: next.items, place: next.next, refusals };
  }

  #next(row: BulkRow, request: CheckedRequest, place: string | undefined): Promise<Page<string>> {
    return itemsAfter(this.#reader, request, row.createdAt, place, PAGE_SIZE);
  }

  get #reader(): Reader {
    return retrying(this.#host.database, this.#retryLimits);
  }

  #query(statement: Sql): Promise<readonly Row[]> {
    const { database } = this.#host;
    return persist(database, () => database.query(statement), this.#retryLimits);
  }
}

const NO_PAGE: Page<string> = { items: [], next: undefined };
const NOTHING: ReadonlyMap<string, ItemResult> = new Map();
