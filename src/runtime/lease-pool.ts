/**
 * The claimed rows of one process: slots, leases and renewals. Every kind of leased row runs in such a pool.
 * Invariants: at most `capacity` slots are taken; each lease is renewed before a quarter of it has passed; a row
 * whose lease was lost is aborted and keeps its slot until its call has returned, so that this process does not
 * claim it a second time meanwhile.
 */
import { checkLease } from "../core/backoff.ts";
import { within, type Clock } from "../storage/clock.ts";
import type { Duty } from "./duty.ts";
import { Lease } from "./lease.ts";
import { RENEWALS, renewOrLetGo } from "./renewal.ts";

export interface Claimed {
  readonly id: string;
  readonly token: number;
}

/** The ids whose leases were renewed: a set, or a map with further values that the renewal read. */
export type Renewed = Pick<ReadonlySet<string>, "has">;

export interface LeasePoolOptions<Item extends Claimed> {
  readonly name: string;
  /** A worker drives it only if its `only` names it. Default: every worker drives it. */
  readonly isOptional?: boolean;
  /** Called before a worker begins. Throws if the database does not fit. */
  readonly check?: () => Promise<void>;
  readonly capacity?: number | undefined;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** A claim takes at most this many, so that the next one can run while these are settled. Default: no limit. */
  readonly claimMax?: number;
  /** Claims up to `limit` due rows. Leaves out `except`: this process lost those, and their calls still run here. */
  readonly claim: (limit: number, except: readonly string[]) => Promise<readonly Item[]>;
  /** Renews these leases. An item that is missing in the answer was lost. */
  readonly renew: (items: readonly Item[]) => Promise<Renewed>;
  /** Does the work and persists its outcome. A throw is a bug: the row is claimed again when its lease ends. */
  readonly run: (item: Item, lease: Lease) => Promise<void>;
  /** Releases a row that a shutdown left without an outcome. Undefined if `run` does that itself. */
  readonly release?: (item: Item) => Promise<void>;
  /** Resolves once all outcomes are written. */
  readonly drained: () => Promise<void>;
  readonly onBug: (error: unknown) => void;
}

/**
 * The share of the free slots that one claim may take: the rest is for rows that are inserted as claimed meanwhile.
 */
const CLAIM_SHARE = 7 / 8;

/** How long a row that is about to be inserted waits for a claim under way. */
const AWAITED_CLAIM_MS = 100;

/** On shutdown: the time limit for calls to stop, and the time limit for the last outcomes to be written. */
const GRACE_MS = 1_000;

export class LeasePool<Item extends Claimed> implements Duty {
  readonly name: string;
  readonly isOptional: boolean | undefined;
  readonly capacity: number | undefined;
  readonly renewEveryMs: number;
  readonly #options: LeasePoolOptions<Item>;
  readonly #leases: Map<Lease, Item> = new Map();
  /** Rows whose outcome is being written, and whose slots are reserved for the rows that follow from it. */
  readonly #handedOn: Set<Lease> = new Set();
  #accepted = 0;
  #claiming = 0;
  #claimUnderWay: Promise<unknown> | undefined;
  #draining = false;
  #onDue: (ms: number) => void = () => undefined;
  #onFree: () => void = () => undefined;
  /** The number of claims that were lost to another worker. */
  lost = 0;

  constructor(options: LeasePoolOptions<Item>) {
    checkLease(options.leaseMs, `The lease of ${options.name}`);
    this.#options = options;
    this.name = options.name;
    this.isOptional = options.isOptional;
    this.capacity = options.capacity;
    this.renewEveryMs = options.leaseMs / RENEWALS;
  }

  accept(capacity: number, onDue: (ms: number) => void, onFree: () => void): void {
    this.#accepted = capacity;
    this.#draining = false;
    this.#onDue = onDue;
    this.#onFree = onFree;
  }

  async check(): Promise<void> {
    await this.#options.check?.();
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  get room(): number {
    const free = this.#draining ? 0 : Math.max(0, this.#accepted - this.#taken);
    return Math.min(Math.ceil(free * CLAIM_SHARE), this.#options.claimMax ?? free);
  }

  get #taken(): number {
    return this.#leases.size - this.#handedOn.size + this.#claiming;
  }

  /** Something becomes due after this delay: the worker polls then. */
  dueIn(ms: number): void {
    this.#onDue(ms);
  }

  async claim(limit: number = this.room): Promise<readonly Lease[]> {
    if (limit <= 0) return [];
    this.#claiming += limit; // reserve the slots until the claim returns
    try {
      // The lease counts from before the claim, because the answer may be late.
      const askedAtMs = this.#options.clock.monotonicMs();
      const claimed = this.#options.claim(limit, this.#lostButRunning());
      this.#claimUnderWay = claimed;
      const items = await claimed;
      return items.map((item) => this.#launch(item, askedAtMs));
    } finally {
      this.#claiming -= limit;
      this.#claimUnderWay = undefined;
    }
  }

  #lostButRunning(): readonly string[] {
    const lost: string[] = [];
    for (const [lease, item] of this.#leases) if (lease.stopped === "lost") lost.push(item.id);
    return lost;
  }

  /**
   * Reserves slots for rows that are about to be inserted as claimed; undefined if too few are free. With `from`,
   * the slot of a row whose outcome is being written is reused.
   */
  reserve(count: number, from?: Lease): Reservation<Item> | undefined {
    const given = from && this.#leases.has(from) && !this.#handedOn.has(from) ? from : undefined;
    const taken = this.#taken - (given ? 1 : 0);
    if (this.#draining || this.#accepted - taken < count) return undefined;
    if (given) this.#handedOn.add(given);
    this.#claiming += count;
    const askedAtMs = this.#options.clock.monotonicMs();
    let isOpen = true;
    const close = (): void => {
      if (isOpen) this.#claiming -= count;
      isOpen = false;
    };
    return {
      cancel: () => {
        if (isOpen && given) this.#handedOn.delete(given);
        close();
      },
      begin: (items) => {
        close();
        return items.map((item) => this.#launch(item, askedAtMs));
      },
    };
  }

  /**
   * The same while a claim has reserved the free slots: it mostly finds few rows and returns them. Without this wait,
   * rows would be left to the next claim, which would again keep slots from rows that follow.
   */
  async reserveAfterClaim(count: number): Promise<Reservation<Item> | undefined> {
    if (!this.#claimUnderWay || this.#draining) return undefined;
    const isOver = this.#claimUnderWay.catch(() => undefined);
    await within(this.#options.clock, AWAITED_CLAIM_MS, isOver);
    return this.reserve(count);
  }

  #launch(item: Item, leasedAtMs: number): Lease {
    const lease = new Lease(leasedAtMs);
    this.#leases.set(lease, item);
    void this.#carry(item, lease);
    return lease;
  }

  async #carry(item: Item, lease: Lease): Promise<void> {
    const { run, release, onBug } = this.#options;
    try {
      await run(item, lease);
      if (lease.stopped === "shutdown") await release?.(item);
    } catch (error) {
      onBug(error);
    }
    if (lease.stopped === "lost") this.lost++;
    lease.leave();
    if (lease.orphanedCall) await lease.orphanedCall;
    this.#handedOn.delete(lease);
    this.#leases.delete(lease);
    this.#onFree();
  }

  /**
   * Renews leases older than an eighth of their length. It runs every eighth, so none gets older than a quarter.
   */
  async renew(): Promise<boolean> {
    const { clock, leaseMs, renew } = this.#options;
    const now = clock.monotonicMs();
    const isDue = ([lease]: [Lease, Item]): boolean =>
      lease.stopped === undefined && !lease.hasLeft && now - lease.leasedAtMs >= leaseMs / RENEWALS;
    // Every process locks rows in the order of their ids, which avoids deadlocks.
    const due = [...this.#leases].filter(isDue).toSorted(([, a], [, b]) => (a.id < b.id ? -1 : 1));
    if (due.length === 0) return false;
    const leases = due.map(([lease]) => lease);
    const held = await renewOrLetGo(clock, leaseMs, leases, () => renew(due.map(([, item]) => item)));
    for (const [lease, item] of due) {
      if (held.has(item.id) && lease.stopped !== "lost") lease.leasedAtMs = now;
      else if (!lease.hasLeft) lease.stop("lost");
    }
    return true;
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    const { clock, drained } = this.#options;
    const goneWithin = (ms: number): Promise<void> =>
      within(clock, ms, Promise.all([...this.#leases.keys()].map((lease) => lease.gone)));
    await goneWithin(deadlineMs);
    for (const lease of this.#leases.keys()) lease.stop("shutdown");
    await goneWithin(Math.min(deadlineMs, GRACE_MS));
    this.#accepted = 0;
    // An unreachable database must not block the shutdown: rows without a durable outcome are claimed again later.
    await within(clock, GRACE_MS, drained());
  }
}

/** Reserved slots. The first call of one of the two functions counts. */
export interface Reservation<Item extends Claimed> {
  begin(items: readonly Item[]): readonly Lease[];
  cancel(): void;
}
