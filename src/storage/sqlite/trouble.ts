/** Classifies SQLite's result codes. The drivers differ in where they put the code. */
import type { Trouble, Violation } from "../database.ts";

const TRANSIENT: Trouble = { kind: "transient", code: "DATABASE_UNREACHABLE" };
const REFUSED: Trouble = { kind: "permanent", code: "DATABASE_REFUSED" };

export function trouble(error: unknown): Trouble {
  try {
    return judge(error);
  } catch {
    return REFUSED; // a getter that throws, a revoked proxy: not a database error
  }
}

function judge(error: unknown): Trouble {
  const code = resultCode(error);
  switch (code === undefined ? undefined : code & 0xff) {
    case 5: // busy
    case 6: // locked
    case 10: // I/O error
    case 13: // disk full
    case 14: // cannot open
      return TRANSIENT;
    case 8:
      return { kind: "transient", code: "DATABASE_READ_ONLY" };
    default:
      return missing(error) ? { kind: "permanent", code: "SCHEMA_MISSING" } : REFUSED;
  }
}

const NAMES: Readonly<Record<string, number>> = {
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
};

/** SQLite's own texts for these codes. */
const TEXTS: Readonly<Record<string, number>> = {
  "database is locked": 5,
  "database table is locked": 6,
  "attempt to write a readonly database": 8,
  "disk I/O error": 10,
  "database or disk is full": 13,
  "unable to open database file": 14,
};

function resultCode(error: unknown): number | undefined {
  const given = (error ?? {}) as { errcode?: unknown; code?: unknown; message?: unknown };
  const { errcode, code, message } = given;
  if (typeof errcode === "number") return errcode;
  // The fallback driver gives an error of `all` no number.
  if (code === NO_CODE) return typeof message === "string" ? TEXTS[message] : undefined;
  return typeof code === "string" ? NAMES[code.split("_").slice(0, 2).join("_")] : undefined;
}

/** What drivers with Node's interface call every error. */
const NO_CODE = "ERR_SQLITE_ERROR";

/** Only the message has the names, with the prefix of Amends' tables. */
export function violation(error: unknown, prefix: string): Violation | undefined {
  const message = String((error as { message?: unknown } | undefined)?.message);
  const found = /UNIQUE constraint failed: (\w+)\.(.+)$/.exec(message);
  if (!found) return undefined;
  const [, table, columns] = found as unknown as [string, string, string];
  return {
    kind: "unique",
    table: table.startsWith(prefix) ? table.slice(prefix.length) : `main.${table}`,
    constraint: undefined,
    columns: columns.split(`, ${table}.`),
  };
}

function missing(error: unknown): boolean {
  return /no such table/.test(String((error as { message?: unknown } | undefined)?.message));
}
