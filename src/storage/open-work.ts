/**
 * Knows whether the code that runs now was called from inside a transaction of this database. A second operation
 * from there would wait for the connection that the first one holds: it is refused instead, with advice.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { AmendsError } from "../core/errors.ts";

export class OpenWork {
  readonly #inside = new AsyncLocalStorage<true>();

  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#inside.run(true, work);
  }

  refuseInside(): void {
    if (!this.#inside.getStore()) return;
    throw new AmendsError(
      "NEEDS_TRANSACTION",
      "This was called from inside a transactional step, whose transaction is still open. Pass it on with `{ tx }`, or call it from another step.",
    );
  }
}
