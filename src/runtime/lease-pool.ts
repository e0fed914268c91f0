/**
 * Claimed rows at work: how many may run here at once, their leases, their ends. Every kind of row with a lease but
 * the sagas' is worked on at such a desk. A row that was lost is told so through its signal, and keeps its place until
 * its call has really ended: what still runs still costs.
 */
import { checkLease } from "../core/backoff.ts";
import { within, type Clock } from "../storage/clock.ts";
import type { Duty, Leaving } from "./duty.ts";
import { RENEWALS, renewOrLetGo } from "./renewal.ts";
import { Stoppable } from "./stoppable.ts";

export interface Claimed {
  readonly id: string;
  readonly token: number;
}

/** Why a call was told to stop. `shutdown` is no outcome: the row is given back. */
export type StopReason = "lost" | "shutdown";

export interface LeasePoolOptions<Item extends Claimed> {
  readonly name: string;
  readonly capacity?: number | undefined;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** A claim takes at most so many: while they are settled, there is room for the next. No limit unless given. */
  readonly claimMax?: number;
  /** Takes up to so many due rows, but none of these: calls for them that were lost still run here. */
  readonly claim: (limit: number, except: readonly string[]) => Promise<readonly Item[]>;
  /** Extends the leases of these; answers with the ids that are still ours. */
  readonly renew: (items: readonly Item[]) => Promise<ReadonlySet<string>>;
  /** Does the work and books what came of it. What it throws is a bug: the lease heals it. */
  readonly run: (item: Item, lease: Lease) => Promise<void>;
  /** Gives back what was told to stop and has no outcome. */
  readonly release: (item: Item) => Promise<void>;
  /** Resolves once nothing that was booked is still on its way to the database. */
  readonly drained: () => Promise<void>;
  readonly onBug: (error: unknown) => void;
}

/** How much of the free places one claim may take. The next one takes the rest. */
const CLAIM_SHARE = 7 / 8;

/** How long a call that was told to stop may take to do so, when the worker shuts down. */
const GRACE_MS = 1_000;

/** One claimed row at work. */
export class Lease implements Leaving {
  leasedAtMs: number;
  #told: Stoppable<StopReason> | undefined;
  #isLost = false;
  #onStop: (() => void) | undefined;
  #onLost: (() => void)[] | undefined;
  #gone: { readonly done: Promise<void>; readonly tell: () => void } | undefined;
  #hasLeft = false;
  #orphanedCall: Promise<unknown> | undefined;

  constructor(leasedAtMs: number) {
    this.leasedAtMs = leasedAtMs;
  }

  /** Resolves when it is over. Few ask. */
  get gone(): Promise<void> {
    if (this.#hasLeft) return Promise.resolve();
    this.#gone ??= deferred();
    return this.#gone.done;
  }

  /** For the call: fires when it should stop. */
  get signal(): AbortSignal {
    this.#told ??= new Stoppable();
    return this.#told.signal;
  }

  /** Calls back each time that it is told to stop: the last one who asks is told. */
  onStop(listener: (() => void) | undefined): void {
    this.#onStop = listener;
  }

  /** Set once the call was told to stop. A row that is lost is not given back, though the worker shuts down as well. */
  get stopped(): StopReason | undefined {
    return this.#isLost ? "lost" : this.#told?.stopReason;
  }

  stop(reason: StopReason): void {
    if (this.#isLost) return;
    this.#isLost = reason === "lost";
    this.#told ??= new Stoppable();
    this.#told.stop(reason);
    this.#onStop?.();
    if (this.#isLost) for (const tell of this.#onLost ?? []) tell();
  }

  /** What comes of this, or undefined as soon as the row is lost. */
  async unlessLost<T>(pending: Promise<T>): Promise<T | undefined> {
    if (this.#isLost) return undefined;
    const lost = new Promise<undefined>((resolve) => {
      this.#onLost ??= [];
      this.#onLost.push(() => resolve(undefined));
    });
    return Promise.race([pending, lost]);
  }

  leave(): void {
    this.#hasLeft = true;
    this.#gone?.tell();
  }

  /** The call has not returned. Nobody waits for it, but its place stays taken until it does. */
  keepOrphan(call: Promise<unknown>): void {
    this.#orphanedCall = call.catch(() => undefined);
  }

  get orphanedCall(): Promise<unknown> | undefined {
    return this.#orphanedCall;
  }
}

function deferred(): { readonly done: Promise<void>; readonly tell: () => void } {
  let tell: () => void = () => undefined;
  const done = new Promise<void>((resolve) => (tell = resolve));
  return { done, tell };
}

export class LeasePool<Item extends Claimed> implements Duty {
  readonly name: string;
  readonly capacity: number | undefined;
  readonly renewEveryMs: number;
  readonly #options: LeasePoolOptions<Item>;
  readonly #leases: Map<Lease, Item> = new Map();
  /** Rows that are being booked, whose places belong to what comes after them already. */
  readonly #handedOn: Set<Lease> = new Set();
  /** Their claims are settled; only their calls are still here. */
  readonly #left: Set<Lease> = new Set();
  #accepted = 0;
  #claiming = 0;
  #draining = false;
  #onDue: (ms: number) => void = () => undefined;
  #onFree: () => void = () => undefined;
  /** Claims that were lost to another worker: the fence held. */
  lost = 0;

  constructor(options: LeasePoolOptions<Item>) {
    checkLease(options.leaseMs, `The lease of ${options.name}`);
    this.#options = options;
    this.name = options.name;
    this.capacity = options.capacity;
    this.renewEveryMs = options.leaseMs / RENEWALS;
  }

  accept(capacity: number, onDue: (ms: number) => void, onFree: () => void): void {
    this.#accepted = capacity;
    this.#draining = false;
    this.#onDue = onDue;
    this.#onFree = onFree;
  }

  get room(): number {
    const taken = this.#leases.size - this.#handedOn.size + this.#claiming;
    const free = this.#draining ? 0 : Math.max(0, this.#accepted - taken);
    // While a claim is under way its places are taken: some are left for rows that are written as ours (`reserve`).
    return Math.min(Math.ceil(free * CLAIM_SHARE), this.#options.claimMax ?? free);
  }

  /** Something will be due in so long: the worker looks then. */
  dueIn(ms: number): void {
    this.#onDue(ms);
  }

  async claim(limit: number = this.room): Promise<readonly Lease[]> {
    if (limit <= 0) return [];
    this.#claiming += limit; // these places are taken until it is known how many the claim fills
    try {
      // The lease counts from before the claim: its answer may have been long on its way.
      const askedAtMs = this.#options.clock.monotonicMs();
      const items = await this.#options.claim(limit, this.#stillHeard());
      return items.map((item) => this.#launch(item, askedAtMs));
    } finally {
      this.#claiming -= limit;
    }
  }

  #stillHeard(): readonly string[] {
    const heard: string[] = [];
    for (const [lease, item] of this.#leases) if (lease.stopped === "lost") heard.push(item.id);
    return heard;
  }

  /**
   * Keeps a place for rows that are about to be written as ours already; undefined where there is none. Whoever asks
   * while it books its own row, and is done then, hands its place on.
   */
  reserve(count: number, from?: Lease): Reservation<Item> | undefined {
    const given = from && this.#leases.has(from) && !this.#handedOn.has(from) ? from : undefined;
    const taken = this.#leases.size - this.#handedOn.size + this.#claiming - (given ? 1 : 0);
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
        if (given) this.#handedOn.delete(given);
        close();
      },
      fill: (items) => {
        close();
        return items.map((item) => this.#launch(item, askedAtMs));
      },
    };
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
      if (lease.stopped === "shutdown") await release(item);
    } catch (error) {
      onBug(error);
    }
    if (lease.stopped === "lost") this.lost++;
    this.#left.add(lease);
    lease.leave();
    if (lease.orphanedCall) await lease.orphanedCall;
    this.#left.delete(lease);
    this.#handedOn.delete(lease);
    this.#leases.delete(lease);
    this.#onFree();
  }

  /** Renews the leases of which an eighth is over. Called as often. */
  async renew(): Promise<void> {
    const { clock, leaseMs, renew } = this.#options;
    const now = clock.monotonicMs();
    const isDue = ([lease]: [Lease, Item]): boolean =>
      lease.stopped === undefined && !this.#left.has(lease) && now - lease.leasedAtMs >= leaseMs / RENEWALS;
    // Rows are locked in this order by everybody, so that nobody waits in a circle.
    const due = [...this.#leases].filter(isDue).toSorted(([, a], [, b]) => (a.id < b.id ? -1 : 1));
    if (due.length === 0) return;
    const leases = due.map(([lease]) => lease);
    const held = await renewOrLetGo(clock, leaseMs, leases, () => renew(due.map(([, item]) => item)));
    for (const [lease, item] of due) {
      if (held.has(item.id) && lease.stopped !== "lost") lease.leasedAtMs = now;
      else if (this.#leases.has(lease) && !this.#left.has(lease)) lease.stop("lost");
    }
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
    // A database that stays away must not keep the process: what is not durable is not booked, and the leases heal it.
    await within(clock, GRACE_MS, drained());
  }
}

/** Places that were kept. Exactly one of the two is called. */
export interface Reservation<Item extends Claimed> {
  fill(items: readonly Item[]): readonly Lease[];
  cancel(): void;
}
