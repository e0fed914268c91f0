/**
 * Runs due work of every kind that is registered: in one loop per kind, or once, from a cron job, a test or a
 * serverless function, with the same guarantees.
 */
import { setMaxListeners } from "node:events";
import { durationMs, positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import { sleep, within, type Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import type { Sql } from "../storage/sql.ts";
import { chooseDuties, type Duty } from "../runtime/duty.ts";
import { BEAT_MS, type Presence } from "../runtime/presence/presence.ts";
import type { Look } from "../runtime/polling/look.ts";
import { DutyLoop, healthOf, type LoopTools, type WorkerHealth } from "../runtime/polling/loop.ts";
import {
  STOPPING,
  STUCK_AFTER,
  workerCheck,
  workerReadiness,
  type Readiness,
  type WorkerReadiness,
} from "./health/readiness.ts";
import { ClaimFailures } from "./budget/claim-failures.ts";
import { Budget, BudgetedWork, type RunReport } from "./budget/run-within.ts";

/** The options of a worker. */
export interface WorkerOptions {
  /** The number of sagas that run at once, and of items of each other kind of work. Default: 100. */
  readonly concurrency?: number;
  /** The poll interval. Default: 1s. */
  readonly poll?: Duration;
  /**
   * The duties that this worker drives: parts such as `sagas`, `schedules`, `outbox`, `calls`, `events`, `webhooks` and `retention`, or
   * one duty of a part, such as `webhooks:sender`. Default: all parts.
   */
  readonly only?: readonly string[];
}

/** The options of `runOnce`. */
export interface RunOnceOptions {
  /**
   * How long the call may take, stopping included, also if the database does not answer: a little less than the platform
   * allows, such as `8s` of 10 seconds.
   */
  readonly budget: Duration;
}

/** The options of `stop`. */
export interface StopOptions {
  /**
   * How long running calls may still take. After that they are aborted. A stop takes at most four seconds longer, also
   * if the database does not answer. Default: 25s.
   */
  readonly deadline?: Duration;
}

export interface WorkerTools {
  /** The duties of all configured parts; read again at each start. */
  readonly duties: () => readonly Duty[];
  readonly clock: Clock;
  /** The loops report trouble with the database to it. */
  readonly watch: LoopTools["watch"];
  readonly owner: string;
  /** Refuses a database that does not fit. It reads only what these duties need. */
  check(duties: readonly Duty[]): Promise<void>;
  /** The look that finds work for these loops; undefined without a database. */
  readonly look:
    | ((loops: readonly DutyLoop[], tools: LoopTools) => Pick<Look, "run" | "heard" | "hears">)
    | undefined;
  /** When work of any part becomes due next, in milliseconds since the epoch; undefined without a database. */
  readonly nextDueMs: (() => Promise<number | undefined>) | undefined;
  /** Warns of sagas' steps that may take longer than a run with a budget has for work. */
  readonly warnOfLongSteps: (workMs: number) => void;
  /** What `ready` asks the database; undefined without a database. */
  readonly readiness: Readiness | undefined;
  /** Records that this worker runs; undefined without a database. */
  readonly presence: Pick<Presence, "seen" | "stopped"> | undefined;
  listen: Database["listen"];
}

/** How long a duty may take to drain beyond the deadline: calls are aborted, and the last outcomes are written. */
const DRAIN_MS = 2_500;

/** How long a stop then waits for a claim or a renewal that is under way, and releases what it has claimed. */
const LAST_LOOK_MS = 1_000;

/**
 * Runs everything that is due: sagas, events, calls, webhooks, erasures and retention. Start it in a long-lived
 * process, or call `runOnce` from a cron job.
 */
export class Worker {
  readonly #tools: WorkerTools;
  readonly #concurrency: number;
  readonly #pollMs: number;
  readonly #only: readonly string[] | undefined;
  #stopping: AbortController | undefined;
  /** Calls may still finish; nothing more is claimed. */
  #isStopping = false;
  #loops: readonly DutyLoop[] = [];
  #unlisten: (() => void) | undefined;
  #running: Promise<unknown> | undefined;
  #once: Promise<unknown> | undefined;

  constructor(tools: WorkerTools, options: WorkerOptions = {}) {
    refuseUnknown(options, ["concurrency", "poll", "only"], "A worker");
    const { concurrency = 100, poll = "1s", only } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new AmendsError("BAD_OPTION", "A worker's concurrency must be a whole number, 1 or more.");
    }
    if (only !== undefined && !(Array.isArray(only) && only.every((name) => typeof name === "string"))) {
      throw new AmendsError("BAD_OPTION", "A worker's `only` must be a list of names of duties.");
    }
    this.#tools = tools;
    this.#only = only;
    this.#concurrency = concurrency;
    this.#pollMs = positiveMs(poll, "A worker's poll");
  }

  /** True between `start` and the end of `stop`, and during `runOnce`. */
  get running(): boolean {
    return this.#stopping !== undefined || this.#once !== undefined;
  }

  /** @internal The progress of the worker; undefined while it does not run. */
  get health(): WorkerHealth | undefined {
    if (!this.#stopping) return undefined;
    const loops = this.#loops.map(({ health }) => health);
    return healthOf(loops, this.#tools.clock.monotonicMs());
  }

  /**
   * Whether the worker makes progress, for the readiness probe of a service: the database answers within 2 seconds and
   * accepts writes, no due work waits for too long, and the worker claims. It is not ready before `start` and after `stop`
   * has begun. It does not throw if the database cannot be reached. `stuckAfter` is how long due work may wait, and how long
   * ago the worker may have looked for work. Default: 5m.
   */
  async ready(options: { readonly stuckAfter?: Duration } = {}): Promise<WorkerReadiness> {
    refuseUnknown(options, ["stuckAfter"], "A worker's ready");
    const stuckAfterMs = positiveMs(options.stuckAfter ?? STUCK_AFTER, "stuckAfter");
    if (this.#isStopping) return STOPPING;
    const { readiness } = this.#tools;
    const found = await (readiness
      ? readiness.look(stuckAfterMs, () => this.health)
      : { workers: null, checks: this.health ? [workerCheck(this.health, stuckAfterMs)] : [] });
    return this.#isStopping ? STOPPING : workerReadiness(found);
  }

  /** Checks the database, then works until it is stopped. Throws `NOT_ALLOWED_NOW` if it is already started. */
  async start(): Promise<void> {
    if (this.#stopping) throw new AmendsError("NOT_ALLOWED_NOW", "This worker has been started already.");
    const stopping = new AbortController();
    // Each duty adds listeners to the signal: their number is not a leak, of which Node.js would warn.
    setMaxListeners(0, stopping.signal);
    this.#stopping = stopping;
    let loops: readonly DutyLoop[];
    try {
      loops = await this.#checkedLoops();
    } catch (error) {
      this.#stopping = undefined;
      throw error;
    }
    if (stopping.signal.aborted) return; // it was stopped before it began
    const look = this.#tools.look?.(loops, this.#loopTools());
    this.#unlisten = this.#tools.listen?.(
      () => {
        for (const loop of loops) loop.wakeUp();
        look?.heard();
      },
      (isHearing) => look?.hears(isHearing),
    );
    const running = loops.map((loop) => loop.run(this.#concurrency, stopping.signal));
    this.#running = Promise.all([...running, look?.run(stopping.signal), this.#beating(stopping.signal)]);
  }

  /**
   * Stops claiming work, lets running calls finish up to the deadline, aborts the others, and releases unfinished work.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    refuseUnknown(options, ["deadline"], "A worker's stop");
    const deadlineMs = durationMs(options.deadline ?? "25s", "The deadline of a stop");
    if (this.#once) await this.#drain(deadlineMs);
    const stopping = this.#stopping;
    if (!stopping) return;
    this.#isStopping = true;
    // Leases are still renewed while calls finish; only claiming has ended.
    await this.#drain(deadlineMs).finally(() => stopping.abort());
    // A claim that was under way at the stop may have returned work: it is released as well. A claim that hangs (a
    // transactional act may keep the connection) ends when the database is closed.
    await within(this.#tools.clock, LAST_LOOK_MS, this.#lookLast());
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#stopping = undefined;
    this.#isStopping = false;
  }

  /**
   * Claims one batch of due work of each kind, runs it until it ends or waits, and returns the number of items. With a
   * `budget` it runs until nothing is due, gives back what is not finished in time, and says when to run again. If a part
   * cannot claim, the others are still run, and the error is thrown at the end, with the names of the duties in
   * `details.duties`. Throws `DATABASE_UNREACHABLE` if the database has not answered before the time for work is over, and
   * `NOT_ALLOWED_NOW` while the worker runs.
   */
  runOnce(): Promise<number>;
  runOnce(options: RunOnceOptions): Promise<RunReport>;
  async runOnce(options?: RunOnceOptions): Promise<number | RunReport> {
    if (options !== undefined) refuseUnknown(options, ["budget"], "A worker's runOnce");
    const budgetMs = options && positiveMs(options.budget, "The budget of runOnce");
    if (this.running)
      throw new AmendsError("NOT_ALLOWED_NOW", "This worker runs already: it needs no runOnce.");
    const once = budgetMs === undefined ? this.#runOnce() : this.#runWithin(budgetMs);
    this.#once = once;
    try {
      return await once;
    } finally {
      this.#once = undefined;
    }
  }

  #runOnce(): Promise<number> {
    return this.#renewingMeanwhile(async (loops) => {
      const failures = new ClaimFailures();
      const counts = await Promise.all(
        loops.map(async ({ duty }) => {
          const taken = await failures.claim(duty, this.#capacityOf(duty));
          await Promise.all(taken.map(({ gone }) => gone));
          return taken.length;
        }),
      );
      failures.throwIfAny();
      return counts.reduce((sum, count) => sum + count, 0);
    });
  }

  #runWithin(budgetMs: number): Promise<RunReport> {
    const { clock, nextDueMs, warnOfLongSteps } = this.#tools;
    const budget = new Budget(clock, budgetMs);
    return this.#renewingMeanwhile((loops) => {
      const duties = loops.map(({ duty }) => [duty, this.#capacityOf(duty)] as const);
      if (loops.some(({ duty }) => duty.name === "sagas")) warnOfLongSteps(budget.work.ms);
      return new BudgetedWork(budget, duties).run(nextDueMs);
    }, budget);
  }

  #capacityOf({ capacity }: Duty): number {
    return capacity ?? this.#concurrency;
  }

  /** Sagas that are started meanwhile are left to the next claim: no call would wait for them here. */
  async #renewingMeanwhile<T>(work: (loops: readonly DutyLoop[]) => Promise<T>, budget?: Budget): Promise<T> {
    const loops = await this.#checkedLoops(budget && ((answer) => budget.known(answer)));
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    const ignore = (): void => undefined;
    for (const { duty } of loops) duty.accept(0, ignore, ignore);
    const renewing = Promise.all(loops.map((loop) => loop.renewing(over.signal)));
    try {
      return await work(loops);
    } finally {
      over.abort();
      // A renewal that is under way has nothing left to protect: what is held was given back, or the database is silent.
      await (budget ? budget.whole.race(renewing) : renewing);
    }
  }

  async #checkedLoops(
    limited: (answer: Promise<void>) => Promise<void> = (answer) => answer,
  ): Promise<readonly DutyLoop[]> {
    const duties = chooseDuties(this.#tools.duties(), this.#only);
    await limited(this.#tools.check(duties));
    const tools = this.#loopTools();
    this.#loops = duties.map((duty) => new DutyLoop(duty, tools));
    await limited(this.#record(() => this.#tools.presence?.seen(this.#stopping === undefined)));
    return this.#loops;
  }

  #loopTools(): LoopTools {
    const { clock, owner, watch } = this.#tools;
    return { clock, owner, pollMs: this.#pollMs, watch };
  }

  async #lookLast(): Promise<void> {
    await this.#running;
    await this.#drain(0);
    await this.#record(() => this.#tools.presence?.stopped());
  }

  async #beating(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#tools.clock, BEAT_MS, signal);
      if (!signal.aborted) await this.#record(() => this.#tools.presence?.seen(false, this.#beats()));
    }
  }

  #beats(): readonly Sql[] {
    return this.#loops.flatMap(({ duty }) => duty.beat?.() ?? []);
  }

  /** Nothing depends on the record: a failure is reported and tried again with the next beat. */
  async #record(write: () => Promise<void> | undefined): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#tools.watch("record the worker").trouble(error);
    }
  }

  /** A duty that waits for the database must not hold the stop up: its rows are claimed again when their leases end. */
  async #drain(deadlineMs: number): Promise<void> {
    const drained = Promise.all(this.#loops.map(({ duty }) => duty.drain(deadlineMs)));
    await within(this.#tools.clock, deadlineMs + DRAIN_MS, drained);
  }
}
