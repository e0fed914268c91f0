/**
 * The claiming loop of one duty. It claims when work becomes due here, when the worker's look finds work (look.ts), and now and
 * then anyway. A duty without a look is polled. A database error stops neither the loop nor running work: after a claim that
 * failed, the loop polls until one succeeds.
 */
import { spread } from "../../core/backoff.ts";
import { errorLabel } from "../../core/errors.ts";
import { sleep, type Clock } from "../../storage/clock.ts";
import type { DatabaseWatch } from "../../storage/retry.ts";
import { Alarms } from "./alarms.ts";
import type { Duty } from "../duty.ts";

export interface LoopTools {
  readonly clock: Clock;
  /** The id of this process, for jitter: processes that were started together must not poll in step. */
  readonly owner: string;
  readonly pollMs: number;
  /** What an operation reports trouble with the database to. */
  watch(operation: string): DatabaseWatch;
}

/** A claim for less than this share of the slots is small. */
const SMALL_CLAIM = 1 / 8;

/** How long a small claim waits for more free slots. */
const SMALL_CLAIM_MS = 20;

/** A duty claims at least this often, whatever the look says. */
const CLAIM_EVERY_MS = 60_000;

/** Due times within this many polls get an alarm: until then the look has found those that have none. */
const ALARMED_POLLS = 10;

export class DutyLoop {
  readonly duty: Duty;
  readonly health: LoopHealth;
  readonly #tools: LoopTools;
  readonly #watches: Readonly<Record<Operation, DatabaseWatch>>;
  #capacity = 0;
  #wake: () => void = () => undefined;
  #woken = false;
  /** The last poll found more rows than free slots. */
  #backlog = false;
  /** Set while a claim waits for more free slots: when it stops waiting. */
  #smallUntilMs: number | undefined;
  /** The due times of rows that were released or started here. */
  readonly #alarms: Alarms;

  constructor(duty: Duty, tools: LoopTools) {
    this.duty = duty;
    this.#tools = tools;
    this.#alarms = new Alarms(tools.clock, () => this.wakeUp());
    this.#watches = { claim: tools.watch(`claim ${duty.name}`), renew: tools.watch(`renew ${duty.name}`) };
    this.health = new LoopHealth(duty.name, tools.clock.monotonicMs());
  }

  /** Runs until the signal aborts. */
  async run(concurrency: number, signal: AbortSignal): Promise<void> {
    const onFree = (): void => {
      if (this.#backlog) this.wakeUp();
    };
    this.#capacity = this.duty.capacity ?? concurrency;
    this.duty.accept(this.#capacity, (ms) => this.#dueIn(ms), onFree);
    await Promise.all([this.#claiming(signal), this.renewing(signal)]);
    this.#alarms.cancelAll();
  }

  wakeUp(): void {
    if (this.#woken) return; // many ends at once wake the loop once
    this.#woken = true;
    this.#wake();
  }

  /** The worker's look has found that this duty has work after so many milliseconds, or that it has none. */
  looked(untilMs: number | undefined): void {
    this.health.answered(this.#tools.clock.monotonicMs());
    if (untilMs === undefined) return;
    if (untilMs <= 0) this.wakeUp();
    else this.#alarmIn(untilMs);
  }

  async renewing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#tools.clock, this.duty.renewEveryMs, signal);
      if (!signal.aborted) await this.#renew();
    }
  }

  async #claiming(signal: AbortSignal): Promise<void> {
    const { duty } = this;
    const { owner, pollMs } = this.#tools;
    for (let tick = 0; !signal.aborted; tick++) {
      const limit = duty.room;
      this.#woken = false;
      const waitMs = this.#waitForSlotsMs(limit);
      if (waitMs > 0) {
        await this.#nap(waitMs, signal);
        continue;
      }
      const found = limit > 0 ? await this.#claim(limit) : 0;
      this.#backlog = limit === 0 ? this.#backlog : found === limit;
      if (signal.aborted || this.#woken || (found === limit && duty.room > 0 && limit > 0)) continue;
      // A claim that failed says nothing about what is due, and the look says nothing about the claim.
      const isPolled = !duty.look || this.health.isFailing("claim");
      const restMs = isPolled ? pollMs : CLAIM_EVERY_MS;
      await this.#nap(spread(restMs, `${owner}${duty.name}`, tick, 0.4), signal);
    }
  }

  /**
   * With a backlog, a small claim waits a moment for more free slots, because it costs the database nearly as much as a large one.
   * Returns how much longer; 0: the claim is made.
   */
  #waitForSlotsMs(limit: number): number {
    const isSmall = this.#backlog && limit > 0 && limit < this.#capacity * SMALL_CLAIM;
    const now = this.#tools.clock.monotonicMs();
    const untilMs = isSmall ? (this.#smallUntilMs ?? now + SMALL_CLAIM_MS) : now;
    this.#smallUntilMs = untilMs > now ? untilMs : undefined;
    return untilMs - now;
  }

  async #nap(ms: number, signal: AbortSignal): Promise<void> {
    const nap = new AbortController();
    this.#wake = () => nap.abort();
    signal.addEventListener("abort", this.#wake, { once: true });
    await sleep(this.#tools.clock, ms, nap.signal);
    signal.removeEventListener("abort", this.#wake);
  }

  /** The number of claimed rows; undefined if the claim failed. */
  async #claim(limit: number): Promise<number | undefined> {
    try {
      const { length } = await this.duty.claim(limit);
      this.#succeeded("claim");
      return length;
    } catch (error) {
      this.#failed("claim", error);
      return undefined;
    }
  }

  async #renew(): Promise<void> {
    try {
      if (await this.duty.renew()) this.#succeeded("renew");
    } catch (error) {
      this.#failed("renew", error);
    }
  }

  #succeeded(operation: Operation): void {
    this.health.succeeded(operation, this.#tools.clock.monotonicMs());
    this.#watches[operation].answered();
  }

  #failed(operation: Operation, error: unknown): void {
    this.health.failed(operation, errorLabel(error));
    this.#watches[operation].trouble(error);
  }

  #dueIn(ms: number): void {
    if (ms <= 0) {
      this.#backlog = true;
      return this.wakeUp();
    }
    this.#alarmIn(ms);
  }

  #alarmIn(ms: number): void {
    const { pollMs } = this.#tools;
    if (ms < (this.duty.look ? pollMs * ALARMED_POLLS : pollMs)) this.#alarms.set(ms);
  }
}

/**
 * Whether a worker makes progress, for readiness and metrics. A claim is a write, so a claim that succeeds shows that
 * the database can be written. A renewal without a lease asks the database nothing and shows nothing.
 */
export interface WorkerHealth {
  /** True once every duty has claimed or renewed successfully; a claim may find no rows. */
  readonly hasWorked: boolean;
  /** Milliseconds since the database last answered the duty that has waited longest. */
  readonly answeredMsAgo: number;
  /** The operations whose last attempt failed. */
  readonly failing: readonly Failing[];
}

export interface Failing {
  readonly duty: string;
  readonly operation: Operation;
  /** The label of the error. */
  readonly error: string;
}

export type Operation = "claim" | "renew";

/** The health of one duty's loop. */
export class LoopHealth {
  readonly #duty: string;
  readonly #errors = new Map<Operation, string>();
  /** By the monotonic clock. */
  answeredAtMs: number;
  hasWorked = false;

  constructor(duty: string, nowMs: number) {
    this.#duty = duty;
    this.answeredAtMs = nowMs;
  }

  succeeded(operation: Operation, nowMs: number): void {
    this.answeredAtMs = nowMs;
    this.hasWorked = true;
    // A successful claim shows as much as a renewal, and there may be nothing left to renew.
    if (operation === "claim") this.#errors.clear();
    else this.#errors.delete(operation);
  }

  /** The database answered a look for work. */
  answered(nowMs: number): void {
    this.answeredAtMs = nowMs;
  }

  isFailing(operation: Operation): boolean {
    return this.#errors.has(operation);
  }

  failed(operation: Operation, error: string): void {
    this.#errors.set(operation, error);
  }

  get failing(): readonly Failing[] {
    return [...this.#errors].map(([operation, error]) => ({ duty: this.#duty, operation, error }));
  }
}

/** The health of a worker with these loops; undefined if it has none. */
export function healthOf(loops: readonly LoopHealth[], nowMs: number): WorkerHealth | undefined {
  if (loops.length === 0) return undefined;
  return {
    hasWorked: loops.every((loop) => loop.hasWorked),
    answeredMsAgo: Math.max(...loops.map((loop) => nowMs - loop.answeredAtMs)),
    failing: loops.flatMap((loop) => loop.failing),
  };
}
