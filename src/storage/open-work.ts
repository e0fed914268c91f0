/**
 * Detects calls from inside an open transaction of this database. A second operation from there would wait for the
 * connection that the transaction holds, which is a deadlock: it is refused with an error.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { AmendsError } from "../core/errors.ts";

export class OpenWork {
  readonly #inside = new AsyncLocalStorage<{ open: boolean }>();

  async run<T>(work: () => Promise<T>): Promise<T> {
    const scope = { open: true };
    try {
      return await this.#inside.run(scope, work);
    } finally {
      // Code that outlives the transaction is no longer inside it.
      scope.open = false;
    }
  }

  refuseInside(): void {
    if (this.#inside.getStore()?.open !== true) return;
    throw new AmendsError(
      "NEEDS_TRANSACTION",
      "This was called from inside a transactional step, whose transaction is still open. Pass it on with `{ tx }`, or call it from another step.",
    );
  }
}
