/**
 * Simulates the death of a process. When it dies, its clock stops and no call of it gets an answer, so that none of
 * its code continues.
 */
import type { Clock } from "../../storage/clock.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export class Mortality {
  #isAlive = true;
  #onWritten: (() => void) | undefined;
  #die!: (reason: Error) => void;
  /** Rejects when the process dies. */
  readonly death: Promise<never> = new Promise((_, reject) => (this.#die = reject));
  readonly #alarms = new Set<() => void>();

  constructor() {
    this.death.catch(() => undefined);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  kill(): void {
    this.#isAlive = false;
    for (const cancel of this.#alarms) cancel();
    this.#die(new Error("the process died"));
  }

  /** The process dies as soon as its next write is durable. */
  killWhenWritten(): void {
    this.#onWritten = () => this.kill();
  }

  /** The clock of this process: it stops when the process dies. */
  clock(clock: VirtualClock): Clock {
    return {
      virtualNowMs: clock.virtualNowMs,
      monotonicMs: () => clock.monotonicMs(),
      after: (ms, callback) => {
        if (!this.#isAlive) return () => undefined;
        const cancel = clock.after(ms, () => {
          this.#alarms.delete(cancel);
          callback();
        });
        this.#alarms.add(cancel);
        return () => {
          this.#alarms.delete(cancel);
          cancel();
        };
      },
    };
  }

  /** A dead process gets no answer, not even a refusal. */
  async whileAlive<T>(work: () => Promise<T>, writes: boolean = false): Promise<T> {
    if (!this.#isAlive) return forever();
    try {
      const answer = await work();
      if (writes && this.#isAlive) this.#onWritten?.();
      return this.#isAlive ? answer : await forever<T>();
    } catch (error) {
      if (!this.#isAlive) return await forever<T>();
      throw error;
    }
  }
}

/** A promise that never settles, for a dead process. */
export function forever<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
