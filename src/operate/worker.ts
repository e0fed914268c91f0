/**
 * Drives whatever is due. As a loop: it looks when something becomes due here, when another process announces
 * something, and in any case every poll interval, because announcements are only hints. Or once, from a cron job, a
 * test or a serverless function, with the same guarantees.
 */
import { spread } from "../core/backoff.ts";
import { durationMs, positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError, errorLabel } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import { sleep, within, type Clock } from "../storage/clock.ts";
import type { Logger } from "./logger.ts";

/** One kind of work that a worker drives. */
export interface Duty {
  /** How many may be claimed now. */
  readonly room: number;
  accept(capacity: number, onDue: (ms: number) => void, onFree: () => void): void;
  /** Claims up to `limit` and runs them. Each tells when it has left this process. */
  claim(limit?: number): Promise<readonly { readonly gone: Promise<unknown> }[]>;
  renew(): Promise<void>;
  drain(deadlineMs: number): Promise<void>;
}

export interface WorkerOptions {
  /** How many sagas run here at once. 100 unless said otherwise. */
  readonly concurrency?: number;
  /** How often it looks when nobody told it to. 1 second unless said otherwise. */
  readonly poll?: Duration;
}

export interface WorkerTools {
  readonly duty: Duty;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly owner: string;
  /** How often leases are looked at. */
  readonly renewEveryMs: number;
  /** Refuses a database that does not fit. */
  check(): Promise<void>;
  listen: ((onNotice: () => void) => () => void) | undefined;
}

/** How long a stop waits, beyond its deadline, for a claim or a renewal that is under way. */
const LAST_LOOK_MS = 1_000;

export class Worker {
  readonly #tools: WorkerTools;
  readonly #concurrency: number;
  readonly #pollMs: number;
  #stopping: AbortController | undefined;
  #loop: Promise<unknown> | undefined;
  #once: Promise<number> | undefined;
  #wake: () => void = () => undefined;
  #woken = false;
  /** The last look found more than there was room for. */
  #backlog = false;
  /** Of the sagas that were given back here: when to look next. */
  #alarm: { readonly atMs: number; cancel(): void } | undefined;

  constructor(tools: WorkerTools, options: WorkerOptions = {}) {
    refuseUnknown(options, ["concurrency", "poll"], "A worker");
    const { concurrency = 100, poll = "1s" } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new AmendsError("BAD_OPTION", "A worker's concurrency must be a whole number, 1 or more.");
    }
    this.#tools = tools;
    this.#concurrency = concurrency;
    this.#pollMs = positiveMs(poll, "A worker's poll");
  }

  get running(): boolean {
    return this.#stopping !== undefined || this.#once !== undefined;
  }

  /** Checks the database, then works until it is stopped. */
  async start(): Promise<void> {
    if (this.#stopping) throw new AmendsError("NOT_ALLOWED_NOW", "This worker has been started already.");
    const stopping = new AbortController();
    this.#stopping = stopping;
    try {
      await this.#tools.check();
    } catch (error) {
      this.#stopping = undefined;
      throw error;
    }
    if (stopping.signal.aborted) return; // it was stopped before it began
    this.#accept();
    const unlisten = this.#tools.listen?.(() => this.#wakeUp());
    this.#loop = Promise.all([this.#claiming(stopping.signal), this.#renewing(stopping.signal)]).finally(
      unlisten,
    );
  }

  /** Stops claiming, lets running calls finish up to a deadline, stops the rest, gives back what is not finished. */
  async stop(options: { readonly deadline?: Duration } = {}): Promise<void> {
    const deadlineMs = durationMs(options.deadline ?? "25s", "The deadline of a stop");
    if (this.#once) await this.#tools.duty.drain(deadlineMs);
    const stopping = this.#stopping;
    if (!stopping) return;
    const drained = this.#tools.duty.drain(deadlineMs);
    // Leases are still renewed while calls finish; only claiming has ended.
    await drained.finally(() => stopping.abort());
    this.#alarm?.cancel();
    // A look at the database that hangs (a transactional act may keep it) ends when the database is closed.
    await within(this.#tools.clock, deadlineMs + LAST_LOOK_MS, this.#loop ?? Promise.resolve());
    // A claim that was under way when the stop came has brought sagas in: they are given back as well.
    await this.#tools.duty.drain(deadlineMs);
    this.#stopping = undefined;
  }

  /** Takes one batch of what is due, runs it until it ends or waits, and returns how much it was. */
  async runOnce(): Promise<number> {
    if (this.running)
      throw new AmendsError("NOT_ALLOWED_NOW", "This worker runs already: it needs no runOnce.");
    this.#once = this.#runOnce();
    try {
      return await this.#once;
    } finally {
      this.#once = undefined;
    }
  }

  async #runOnce(): Promise<number> {
    await this.#tools.check();
    const { duty } = this.#tools;
    const over = new AbortController();
    // What is started meanwhile is left for whoever comes next: nobody here would wait for it.
    const ignore = (): void => undefined;
    duty.accept(0, ignore, ignore);
    const renewing = this.#renewing(over.signal);
    try {
      const runs = await duty.claim(this.#concurrency);
      await Promise.all(runs.map((run) => run.gone));
      return runs.length;
    } finally {
      over.abort();
      await renewing;
    }
  }

  #accept(): void {
    const onFree = (): void => {
      if (this.#backlog) this.#wakeUp();
    };
    this.#tools.duty.accept(this.#concurrency, (ms) => this.#dueIn(ms), onFree);
  }

  async #claiming(signal: AbortSignal): Promise<void> {
    const { duty, clock, owner } = this.#tools;
    for (let tick = 0; !signal.aborted; tick++) {
      const limit = duty.room;
      this.#woken = false;
      const found = limit > 0 ? await this.#tryTo("claim", async () => (await duty.claim(limit)).length) : 0;
      this.#backlog = limit === 0 ? this.#backlog : found === limit;
      if (signal.aborted || this.#woken || (found === limit && duty.room > 0 && limit > 0)) continue;
      const nap = new AbortController();
      this.#wake = () => nap.abort();
      signal.addEventListener("abort", this.#wake, { once: true });
      // Spread, so that a fleet that was started together does not look together for ever.
      await sleep(clock, spread(this.#pollMs, owner, tick, 0.4), nap.signal);
      signal.removeEventListener("abort", this.#wake);
    }
  }

  async #renewing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#tools.clock, this.#tools.renewEveryMs, signal);
      if (!signal.aborted) await this.#tryTo("renew", () => this.#tools.duty.renew());
    }
  }

  /** Trouble with the database ends neither the worker nor anybody's work: it is tried again on the next tick. */
  async #tryTo<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      const cause = errorLabel((error as { cause?: unknown }).cause);
      this.#tools.logger.warn(
        { what, error: errorLabel(error), cause },
        "amends: the database could not be used; trying again",
      );
      return undefined;
    }
  }

  #dueIn(ms: number): void {
    if (ms <= 0) {
      this.#backlog = true;
      return this.#wakeUp();
    }
    if (ms >= this.#pollMs) return; // the poll comes first
    const { clock } = this.#tools;
    const atMs = clock.monotonicMs() + ms;
    if (this.#alarm && this.#alarm.atMs <= atMs) return;
    this.#alarm?.cancel();
    const cancel = clock.after(ms, () => {
      this.#alarm = undefined;
      this.#wakeUp();
    });
    this.#alarm = { atMs, cancel };
  }

  #wakeUp(): void {
    this.#woken = true;
    this.#wake();
  }
}
