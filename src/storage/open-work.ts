/**
 * Detects calls from inside an open transaction of this database, and from inside a run of the storage contract that holds a
 * lock. A second operation from there would wait for the connection that the transaction holds, which is a deadlock: it is
 * refused with an error.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { AmendsError } from "../core/errors.ts";
import type { Database } from "./database.ts";

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

/** A run, as far as other calls depend on it. */
export interface LockingRun {
  /** From the moment at which the lock is asked for, until its transaction has ended. */
  readonly isLocking: boolean;
}

interface Scope {
  readonly db: Pick<Database, "dialect">;
  readonly run: LockingRun;
  readonly outer: Scope | undefined;
}

/** One for all storages: two of them may share a database. */
const scopes = new AsyncLocalStorage<Scope | undefined>();

export function insideRun<T>(db: Database, run: LockingRun, work: () => Promise<T>): Promise<T> {
  return scopes.run({ db, run, outer: scopes.getStore() }, work);
}

/** Work of a run itself. `refuseInsideLocked` has found no other run that it would wait for. */
export function outsideRuns<T>(work: () => Promise<T>): Promise<T> {
  return scopes.run(undefined, work);
}

/** Throws inside the work of a run that holds a lock in this database. `own` is the run that makes the call. */
export function refuseInsideLocked(db: Pick<Database, "dialect">, own?: LockingRun): void {
  for (let scope = scopes.getStore(); scope; scope = scope.outer) {
    if (scope.db !== db || scope.run === own || !scope.run.isLocking) continue;
    throw new AmendsError(
      "NOT_ALLOWED_NOW",
      "This was called from inside a run that has read a saga for update, and would wait for the connection that the run holds. Nothing was written. Use the methods of that run, or call it after the run's `commit` or `rollback`.",
    );
  }
}
