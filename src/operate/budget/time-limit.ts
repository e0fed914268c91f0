/** One time limit for several waits in a row: each of them gets what is left. */
import { sleep, type Clock } from "../../storage/clock.ts";

/** The time was over before the work. */
export const OVER: unique symbol = Symbol("over");

export class TimeLimit {
  readonly ms: number;
  readonly #clock: Clock;
  readonly #endsAtMs: number;

  constructor(clock: Clock, ms: number) {
    this.ms = ms;
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + ms;
  }

  get leftMs(): number {
    return Math.max(0, this.#endsAtMs - this.#clock.monotonicMs());
  }

  /** The result of the work, or `OVER`. Work that is not finished by then goes on; its result and its error are ignored. */
  async race<T>(work: Promise<T>): Promise<T | typeof OVER> {
    const ended = new AbortController();
    const limit = sleep(this.#clock, this.leftMs, ended.signal).then((): typeof OVER => OVER);
    try {
      return await Promise.race([work, limit]);
    } finally {
      ended.abort();
    }
  }
}
