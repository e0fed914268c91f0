/** For operations in a synchronous transaction: they need their values and their session without waiting. */
import { AmendsError } from "../../core/errors.ts";
import type { Database, SyncSession } from "../database.ts";

/** The value, or a refusal if it comes later. `field` says what it is: "The input of saga order". */
export function atOnce<T>(value: T | Promise<T>, field: string): T {
  if (!(value instanceof Promise)) return value;
  value.catch(() => undefined); // its rejection has no receiver
  throw new AmendsError(
    "NOT_SUPPORTED",
    `${field} has an asynchronous schema, and a synchronous transaction cannot wait for it. Use a schema without asynchronous checks, or an asynchronous transaction. Nothing was written.`,
  );
}

/** A session in the caller's synchronous transaction. */
export function joinNow<Tx>(database: Database<Tx> | undefined, tx: Tx | undefined): SyncSession {
  if (!database?.joinNow) {
    throw new AmendsError(
      "NOT_SUPPORTED",
      "`amends.sync` is for the synchronous transactions of SQLite. On PostgreSQL use the same operation without `sync`, and await it.",
    );
  }
  if (tx === undefined) {
    throw new AmendsError(
      "NEEDS_TRANSACTION",
      "`amends.sync` writes in your own open transaction: pass it as { tx }. Without one, use the same operation without `sync`.",
    );
  }
  return database.joinNow(tx);
}
