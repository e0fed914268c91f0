/**
 * The time limit of callers that wait for a write. One timer serves all of them, because a timer for each start would cost
 * more than the start's share of the flush.
 */
import { systemClock } from "../clock.ts";

/** A caller that waits. */
export interface WaitingCaller {
  readonly sinceMs: number;
  /** It has its answer, or its error. */
  readonly isOver: boolean;
  fail(): void;
}

export class AnswerLimit {
  readonly #ms: number;
  /** In the order in which they began to wait. Those before `#first` are over. */
  #callers: WaitingCaller[] = [];
  #first = 0;
  #cancel: (() => void) | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  add(caller: WaitingCaller): void {
    this.#callers.push(caller);
    this.#cancel ??= systemClock.after(this.#ms, () => this.#check());
  }

  /** Forgets the callers that are over. Without any other the timer ends, so that it does not keep the process alive. */
  forget(): void {
    while (this.#callers[this.#first]?.isOver) this.#first++;
    if (this.#first < this.#callers.length) {
      if (this.#first < 1_000) return;
      this.#callers = this.#callers.slice(this.#first);
    } else {
      this.#callers = [];
      this.#cancel?.();
      this.#cancel = undefined;
    }
    this.#first = 0;
  }

  #check(): void {
    this.#cancel = undefined;
    const now = systemClock.monotonicMs();
    for (let at = this.#first; at < this.#callers.length; at++) {
      const caller = this.#callers[at] as WaitingCaller;
      if (caller.sinceMs + this.#ms > now) break;
      if (!caller.isOver) caller.fail();
    }
    this.forget();
    const next = this.#callers[this.#first];
    if (next) this.#cancel ??= systemClock.after(next.sinceMs + this.#ms - now, () => this.#check());
  }
}
