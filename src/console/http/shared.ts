/** One answer for all who ask at the same time or shortly after: however many look, the database is asked once. */
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
    // Trouble is nobody's answer but of those who waited for it.
    value.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return value;
  }
}
