/**
 * A storage in virtual time. Time passes by itself, from one timer to the next, but only while no call of the storage is under
 * way: a slow database makes no lease lapse, and no test waits for one.
 */
import type { SagaStorage } from "amends/storage";
import { virtualClock, type VirtualClock } from "amends/testing";

export class VirtualTime {
  readonly clock: VirtualClock = virtualClock();
  #calls = 0;
  #isOver = false;
  #wake: () => void = () => undefined;
  readonly #passed: Promise<void>;

  constructor() {
    this.#passed = this.#pass();
  }

  /** The same storage: time stands still while one of its calls runs. */
  watched(storage: SagaStorage): SagaStorage {
    return new Proxy(storage, {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name, target);
        return typeof found === "function"
          ? (...given: unknown[]) => this.#during(() => Reflect.apply(found, target, given) as unknown)
          : found;
      },
    });
  }

  /** Time passes no more. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#passed;
  }

  async #during(call: () => unknown): Promise<unknown> {
    this.#calls++;
    try {
      return await call();
    } finally {
      if (--this.#calls === 0) this.#wake();
    }
  }

  async #pass(): Promise<void> {
    while (!this.#isOver) {
      if (this.#calls > 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      // Whoever waits for the call goes on first, and may make the next one.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#calls === 0 && !(await this.clock.advanceToNext()))
        await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}
