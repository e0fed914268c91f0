/**
 * A run of due work with a budget of time: for platforms that freeze or end a process after some seconds. It claims until
 * nothing is due or the time for work is over, then lets calls finish for a moment, aborts the others and gives their work
 * back, so that the process can be frozen in a known state. Every wait has a limit: a silent database cannot prolong it.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Duty } from "../../runtime/duty.ts";
import type { Clock } from "../../storage/clock.ts";
import { ClaimFailures } from "./claim-failures.ts";
import { OVER, TimeLimit } from "./time-limit.ts";

/** How a run with a budget ended. */
export interface RunReport {
  /** The number of items that were claimed. */
  readonly items: number;
  /**
   * True if the budget ended before the work did, or before the database said when the next work is due: run again at
   * once.
   */
  readonly more: boolean;
  /** When the next work becomes due; undefined if nothing waits for its time, if `more` is true, or with a custom storage. */
  readonly nextAt: Date | undefined;
}

const DRAIN_MS_MAX = 1_000;
const DRAIN_STEPS = 3;

/** The time of a run: work, then one share each for calls to finish, for aborted calls to stop, and for the last writes. */
export class Budget {
  readonly whole: TimeLimit;
  readonly work: TimeLimit;
  readonly drainMs: number;

  /** A short budget leaves five eighths of it for work. */
  constructor(clock: Clock, budgetMs: number) {
    this.drainMs = Math.min(DRAIN_MS_MAX, budgetMs / 8);
    this.whole = new TimeLimit(clock, budgetMs);
    this.work = new TimeLimit(clock, budgetMs - DRAIN_STEPS * this.drainMs);
  }

  /** What has to be known before work begins. Throws if it is not known in the time for work. */
  async known<T>(answer: Promise<T>): Promise<T> {
    const known = await this.work.race(answer);
    if (known !== OVER) return known;
    throw new AmendsError(
      "DATABASE_UNREACHABLE",
      `The database did not answer within ${this.work.ms} ms, the time for work in a budget of ${this.whole.ms} ms. Nothing was claimed. Check that the database runs, then run again.`,
    );
  }
}

/** Works until nothing is due, in the time for work. */
export class BudgetedWork {
  readonly #budget: Budget;
  readonly #duties: readonly (readonly [duty: Duty, capacity: number])[];
  readonly #failures = new ClaimFailures();
  #items = 0;
  #isDone = false;

  constructor(budget: Budget, duties: readonly (readonly [duty: Duty, capacity: number])[]) {
    this.#budget = budget;
    this.#duties = duties;
  }

  /** Throws if a duty could not claim, after all duties have given back what is not finished. */
  async run(nextDueMs: (() => Promise<number | undefined>) | undefined): Promise<RunReport> {
    const { work, whole } = this.#budget;
    const working = this.#workOffAll();
    await work.race(working);
    if (!this.#isDone) await whole.race(this.#giveBack(working));
    this.#failures.throwIfAny();
    const next = this.#isDone ? await whole.race(nextDueMs?.() ?? Promise.resolve(undefined)) : OVER;
    const nextAt = next === OVER || next === undefined ? undefined : new Date(next);
    return { items: this.#items, more: next === OVER, nextAt };
  }

  /** What one duty does may make work for another: a pass of all of them that finds nothing is the end. */
  async #workOffAll(): Promise<void> {
    const { work } = this.#budget;
    for (let before = -1; before !== this.#items && work.leftMs > 0;) {
      before = this.#items;
      await Promise.all(this.#duties.map(([duty, capacity]) => this.#workOff(duty, capacity)));
    }
    this.#isDone = work.leftMs > 0;
  }

  async #workOff(duty: Duty, capacity: number): Promise<void> {
    const { work } = this.#budget;
    const active = new Set<Promise<unknown>>();
    while (work.leftMs > 0 && !this.#failures.has(duty)) {
      const free = capacity - active.size;
      const taken = await this.#failures.claim(duty, free);
      this.#items += taken.length;
      for (const { gone } of taken) {
        const leaving: Promise<unknown> = gone.then(() => active.delete(leaving));
        active.add(leaving);
      }
      if (active.size === 0) return;
      // A full batch may have left more behind. Otherwise nothing more is due until what runs here makes it.
      const isFull = taken.length === free && !this.#failures.has(duty);
      if (work.leftMs > 0) await work.race(isFull ? Promise.race(active) : Promise.all(active));
    }
  }

  /** A claim that is under way when the time for work ends may still return rows: they are given back as well. */
  async #giveBack(working: Promise<void>): Promise<void> {
    await this.#drain(this.#budget.drainMs);
    await working;
    await this.#drain(this.#budget.whole.leftMs / DRAIN_STEPS);
  }

  async #drain(deadlineMs: number): Promise<void> {
    await Promise.all(this.#duties.map(([duty]) => duty.drain(deadlineMs)));
  }
}
