/**
 * A run of due work with a budget of time: for platforms that freeze or end a process after some seconds. It claims until
 * nothing is due or the time for work is over, then lets calls finish for a moment, aborts the others and gives their work
 * back, so that the process can be frozen in a known state.
 */
import type { Duty } from "../runtime/duty.ts";
import { sleep, type Clock } from "../storage/clock.ts";

/** How a run with a budget ended. */
export interface RunReport {
  /** The number of items that were claimed. */
  readonly items: number;
  /** True if the budget ended before the work did: run again at once. */
  readonly more: boolean;
  /** When the next work becomes due; undefined if nothing waits for its time, or with a custom storage. */
  readonly nextAt: Date | undefined;
}

/** The parts of a budget: work, then one share each for calls to finish, for aborted calls to stop, and for the last writes. */
export interface Budget {
  readonly workMs: number;
  readonly drainMs: number;
}

const DRAIN_MS_MAX = 1_000;
export const DRAIN_STEPS = 3;

/** A short budget leaves five eighths of it for work. */
export function budgetOf(budgetMs: number): Budget {
  const drainMs = Math.min(DRAIN_MS_MAX, budgetMs / 8);
  return { workMs: budgetMs - DRAIN_STEPS * drainMs, drainMs };
}

export interface Worked {
  readonly items: number;
  /** The time was over before the work. */
  readonly isOver: boolean;
}

/** Works until nothing is due, for `workMs` at most. */
export class BudgetedWork {
  readonly #clock: Clock;
  readonly #endsAtMs: number;
  #items = 0;
  #isDone = false;

  constructor(clock: Clock, workMs: number) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + workMs;
  }

  async run(duties: readonly (readonly [duty: Duty, capacity: number])[]): Promise<Worked> {
    await this.#inTime(this.#workOffAll(duties));
    return { items: this.#items, isOver: !this.#isDone };
  }

  get #leftMs(): number {
    return Math.max(0, this.#endsAtMs - this.#clock.monotonicMs());
  }

  async #inTime(work: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    try {
      await Promise.race([work, sleep(this.#clock, this.#leftMs, over.signal)]);
    } finally {
      over.abort();
    }
  }

  /** What one duty does may make work for another: a pass of all of them that finds nothing is the end. */
  async #workOffAll(duties: readonly (readonly [duty: Duty, capacity: number])[]): Promise<void> {
    for (let before = -1; before !== this.#items && this.#leftMs > 0;) {
      before = this.#items;
      await Promise.all(duties.map(([duty, capacity]) => this.#workOff(duty, capacity)));
    }
    this.#isDone = this.#leftMs > 0;
  }

  async #workOff(duty: Duty, capacity: number): Promise<void> {
    const active = new Set<Promise<unknown>>();
    while (this.#leftMs > 0) {
      const free = capacity - active.size;
      const taken = await duty.claim(free);
      this.#items += taken.length;
      for (const { gone } of taken) {
        const leaving: Promise<unknown> = gone.then(() => active.delete(leaving));
        active.add(leaving);
      }
      if (active.size === 0) return;
      // A full batch may have left more behind. Otherwise nothing more is due until what runs here makes it.
      await this.#inTime(taken.length === free ? Promise.race(active) : Promise.all(active));
    }
  }
}
