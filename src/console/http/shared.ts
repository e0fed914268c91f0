/**
 * One cached answer for concurrent requests and for a short time after: the database is asked once for any number of
 * viewers.
 */
import type { Clock } from "../../storage/clock.ts";

export class Shared<T> {
  readonly #clock: Clock;
  readonly #freshMs: number;
  readonly #make: () => Promise<T>;
  #made: { readonly atMs: number; readonly value: Promise<T> } | undefined;

  constructor(clock: Clock, freshMs: number, make: () => Promise<T>) {
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#make = make;
  }

  get(): Promise<T> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#made && nowMs - this.#made.atMs < this.#freshMs) return this.#made.value;
    const value = this.#make();
    const made = { atMs: nowMs, value };
    this.#made = made;
    // An error is not cached: only the requests that waited for it get it.
    value.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return value;
  }
}
