/**
 * The claimed rows of one process: slots, leases and renewals. Every kind of leased row runs in such a pool.
 * Invariants: at most `capacity` slots are taken; each lease is renewed before a quarter of it has passed; a row
 * whose lease was lost is aborted and keeps its slot until its call has returned, so that this process does not
 * claim it a second time meanwhile.
 */
import { checkLease } from "../core/backoff.ts";
import { within, type Clock } from "../storage/clock.ts";
import type { Sql } from "../storage/sql.ts";
import type { Duty, DutyLook } from "./duty.ts";
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
  /** A statement that is sent with each sign of life of a worker. */
  readonly beat?: () => Sql | undefined;
  /** What the worker's look reads for it. Undefined: it is polled. */
  readonly look?: DutyLook | undefined;
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

/** A claimed row and its lease. */
class Slot<Item> extends Lease {
  readonly item: Item;
  /** Its outcome is being written, and its slot is reserved for the rows that follow from it. */
  isHandedOn = false;

  constructor(item: Item, leasedAtMs: number) {
    super(leasedAtMs);
    this.item = item;
  }
}

export class LeasePool<Item extends Claimed> implements Duty {
  readonly name: string;
  readonly isOptional: boolean | undefined;
  readonly capacity: number | undefined;
  readonly renewEveryMs: number;
  readonly look: DutyLook | undefined;
  readonly #options: LeasePoolOptions<Item>;
  readonly #slots = new Set<Slot<Item>>();
  #handedOn = 0;
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
    this.look = options.look;
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

  beat(): Sql | undefined {
    return this.#options.beat?.();
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  get room(): number {
    const free = this.#draining ? 0 : Math.max(0, this.#accepted - this.#taken);
    return Math.min(Math.ceil(free * CLAIM_SHARE), this.#options.claimMax ?? free);
  }

  get #taken(): number {
    return this.#slots.size - this.#handedOn + this.#claiming;
  }

  /** Something becomes due after this delay: the worker polls then. */
  dueIn(ms: number): void {
    this.#onDue(ms);
  }

  async claim(limit: number = this.room): Promise<readonly Lease[]> {
    if (limit <= 0) return [];
    const slots = await this.#claim(limit);
    // Another claim follows a full one. It is sent before these rows run, so that the database works on it meanwhile.
    if (slots.length === limit && this.room > 0) setImmediate(() => this.#launch(slots));
    else this.#launch(slots);
    return slots;
  }

  async #claim(limit: number): Promise<readonly Slot<Item>[]> {
    this.#claiming += limit; // reserve the slots until the claim returns
    try {
      // The lease counts from before the claim, because the answer may be late.
      const askedAtMs = this.#options.clock.monotonicMs();
      const claimed = this.#options.claim(limit, this.#lostButRunning());
      this.#claimUnderWay = claimed;
      const items = await claimed;
      return items.map((item) => this.#take(item, askedAtMs));
    } finally {
      this.#claiming -= limit;
      this.#claimUnderWay = undefined;
    }
  }

  #lostButRunning(): readonly string[] {
    const lost: string[] = [];
    for (const slot of this.#slots) if (slot.stopped === "lost") lost.push(slot.item.id);
    return lost;
  }

  /**
   * Reserves slots for rows that are about to be inserted as claimed; undefined if too few are free. With `from`,
   * the slot of a row whose outcome is being written is reused.
   */
  reserve(count: number, from?: Lease): Reservation<Item> | undefined {
    const given = this.#given(from);
    const taken = this.#taken - (given ? 1 : 0);
    if (this.#draining || this.#accepted - taken < count) return undefined;
    if (given) this.#handOn(given, true);
    this.#claiming += count;
    const askedAtMs = this.#options.clock.monotonicMs();
    let isOpen = true;
    const close = (): void => {
      if (isOpen) this.#claiming -= count;
      isOpen = false;
    };
    return {
      cancel: () => {
        if (isOpen && given) this.#handOn(given, false);
        close();
      },
      begin: (items) => {
        close();
        const slots = items.map((item) => this.#take(item, askedAtMs));
        this.#launch(slots);
        return slots;
      },
    };
  }

  /** The slot of a row of this pool that is not handed on yet. */
  #given(from: Lease | undefined): Slot<Item> | undefined {
    const slot = from as Slot<Item> | undefined;
    return slot && this.#slots.has(slot) && !slot.isHandedOn ? slot : undefined;
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

  #handOn(slot: Slot<unknown>, isHandedOn: boolean): void {
    if (slot.isHandedOn === isHandedOn) return;
    slot.isHandedOn = isHandedOn;
    this.#handedOn += isHandedOn ? 1 : -1;
  }

  #take(item: Item, leasedAtMs: number): Slot<Item> {
    const slot = new Slot(item, leasedAtMs);
    this.#slots.add(slot);
    return slot;
  }

  #launch(slots: readonly Slot<Item>[]): void {
    for (const slot of slots) void this.#carry(slot);
  }

  async #carry(slot: Slot<Item>): Promise<void> {
    const { run, release, onBug } = this.#options;
    try {
      await run(slot.item, slot);
      if (slot.stopped === "shutdown") await release?.(slot.item);
    } catch (error) {
      onBug(error);
    }
    if (slot.stopped === "lost") this.lost++;
    slot.leave();
    if (slot.orphanedCall) await slot.orphanedCall;
    this.#handOn(slot, false);
    this.#slots.delete(slot);
    this.#onFree();
  }

  /**
   * Renews leases older than an eighth of their length. It runs every eighth, so none gets older than a quarter.
   */
  async renew(): Promise<boolean> {
    const { clock, leaseMs, renew } = this.#options;
    const now = clock.monotonicMs();
    const isDue = (slot: Slot<Item>): boolean =>
      slot.stopped === undefined && !slot.hasLeft && now - slot.leasedAtMs >= leaseMs / RENEWALS;
    // Every process locks rows in the order of their ids, which avoids deadlocks.
    const due = [...this.#slots].filter(isDue).toSorted(({ item: a }, { item: b }) => (a.id < b.id ? -1 : 1));
    if (due.length === 0) return false;
    const held = await renewOrLetGo(clock, leaseMs, due, () => renew(due.map(({ item }) => item)));
    for (const slot of due) {
      if (held.has(slot.item.id) && slot.stopped !== "lost") slot.leasedAtMs = now;
      else if (!slot.hasLeft) slot.stop("lost");
    }
    return true;
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    const { clock, drained } = this.#options;
    const goneWithin = (ms: number): Promise<void> =>
      within(clock, ms, Promise.all([...this.#slots].map((slot) => slot.gone)));
    await goneWithin(deadlineMs);
    for (const slot of this.#slots) slot.stop("shutdown");
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
