/**
 * Knows whether the code that runs now was called from inside a transaction of this database. A second operation
 * from there would wait for the connection that the first one holds: it is refused instead, with advice.
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
      // What the work set off and did not wait for is inside nothing any more.
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
