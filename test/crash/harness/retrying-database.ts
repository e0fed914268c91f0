/**
 * A database whose reads are repeated after transient errors, for the checkers and the harness: on a busy machine a
 * connection may take longer than its limit, which says nothing about the scenario.
 */
import type { Database } from "../../../src/storage/database.ts";
import { persist } from "../../../src/storage/retry.ts";

export function retryingReads(database: Database): Database {
  // A checker that tries a forbidden change looks at the database's own error.
  const retried = <T>(read: () => Promise<T>): Promise<T> =>
    persist(database, read).catch((error: unknown) => {
      throw (error as { cause?: unknown }).cause ?? error;
    });
  return {
    dialect: database.dialect,
    clock: database.clock,
    open: () => database.open(),
    query: (statement) => retried(() => database.query(statement)),
    batch: (statements) => retried(() => database.batch(statements)),
    transaction: (work, foreign) => database.transaction(work, foreign),
    join: (tx) => database.join(tx),
    close: () => database.close(),
  };
}
