/**
 * Loads a SQLite driver: Node's own if it has one, otherwise the fallback package with the same interface. A
 * caller's handle (node:sqlite, better-sqlite3, or anything of that shape) is used directly.
 */
import { createRequire } from "node:module";
import process from "node:process";
import { AmendsError } from "../../core/errors.ts";
import { isTooOld } from "./version.ts";

/** What can be bound to a statement. */
export type SqliteValue = string | number | bigint | null | Uint8Array;

/** A prepared statement. */
export interface SqliteStatement {
  /** Runs the statement and returns all rows. */
  all(...values: SqliteValue[]): unknown[];
  /** Runs a statement that returns no rows. */
  run(...values: SqliteValue[]): unknown;
  /** better-sqlite3: true if the statement returns rows. `all` throws if it does not. */
  readonly reader?: boolean;
}

/** The part of a SQLite handle that Amends uses. Handles of node:sqlite and better-sqlite3 fit. */
export interface SqliteHandle {
  /** Prepares a statement. */
  prepare(text: string): SqliteStatement;
  /** Runs SQL text without parameters. */
  exec(text: string): unknown;
  /** Closes the handle. */
  close(): unknown;
  /** node:sqlite: true inside a transaction. */
  readonly isTransaction?: boolean;
  /** better-sqlite3: true inside a transaction. */
  readonly inTransaction?: boolean;
}

type Constructor = new (path: string) => SqliteHandle;

export function openSqlite(path: string): SqliteHandle {
  const Own = builtIn();
  const Handle = Own && !isTooOld(versionOf(Own)) ? Own : fallback();
  return new Handle(path);
}

function versionOf(Handle: Constructor): string {
  const memory = new Handle(":memory:");
  const [row] = memory.prepare("select sqlite_version() as version").all() as { version: string }[];
  memory.close();
  return row?.version ?? "0";
}

function builtIn(): Constructor | undefined {
  const get = (process as { getBuiltinModule?: (id: string) => unknown }).getBuiltinModule;
  if (!get) return undefined;
  const module = quietly(() => get("node:sqlite")) as { DatabaseSync?: Constructor } | undefined;
  return module?.DatabaseSync;
}

/** Suppresses the warning of Node 22 that its SQLite is experimental: users of Amends cannot act on it. */
function quietly<T>(load: () => T): T {
  const emitWarning: unknown = Reflect.get(process, "emitWarning");
  Reflect.set(process, "emitWarning", () => undefined);
  try {
    return load();
  } finally {
    Reflect.set(process, "emitWarning", emitWarning);
  }
}

function fallback(): Constructor {
  try {
    const require = createRequire(import.meta.url);
    return (require("@photostructure/sqlite") as { DatabaseSync: Constructor }).DatabaseSync;
  } catch (cause) {
    throw new AmendsError(
      "DATABASE_TOO_OLD",
      "The SQLite of this Node.js is missing or too old. Install the package @photostructure/sqlite.",
      {},
      { cause },
    );
  }
}
