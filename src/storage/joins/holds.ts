/**
 * An operation that works in a savepoint holds the caller's transaction meanwhile. Other operations of Amends that run at once in
 * the same transaction wait: what they wrote in between would be rolled back with the savepoint, after they have returned.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export class Holds {
  readonly #held = new WeakMap<object, Promise<void>>();
  /** Code that the holder calls, such as an audit sink of the application, does not wait for it. */
  readonly #inside = new AsyncLocalStorage<object>();

  /** True if a statement must wait for `turn`. What comes next without another wait is not interrupted. */
  isHeld(tx: object): boolean {
    return this.#held.has(tx) && this.#inside.getStore() !== tx;
  }

  /** Waits for the operation that holds the transaction. Another one may hold it then. */
  async turn(tx: object): Promise<void> {
    await this.#held.get(tx);
  }

  async run<T>(tx: object, work: () => Promise<T>): Promise<T> {
    if (this.#inside.getStore() === tx) return work();
    while (this.isHeld(tx)) await this.turn(tx);
    let release: (() => void) | undefined;
    this.#held.set(tx, new Promise((resolve) => (release = resolve)));
    try {
      return await this.#inside.run(tx, work);
    } finally {
      this.#held.delete(tx);
      release?.();
    }
  }
}
