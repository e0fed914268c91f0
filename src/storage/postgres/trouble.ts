/** Classifies errors of PostgreSQL and of the connection. */
import type { Trouble, Violation } from "../database.ts";

const UNREACHABLE_TRANSIENT: Trouble = { kind: "transient", code: "DATABASE_UNREACHABLE" };
const UNREACHABLE_UNKNOWN: Trouble = { kind: "unknown", code: "DATABASE_UNREACHABLE" };
const BLOCKED: Trouble = { ...UNREACHABLE_TRANSIENT, blocked: true };
const READ_ONLY: Trouble = { kind: "transient", code: "DATABASE_READ_ONLY" };
const MISSING: Trouble = { kind: "permanent", code: "SCHEMA_MISSING" };
const FORBIDDEN: Trouble = { kind: "permanent", code: "DATABASE_FORBIDDEN" };
const REFUSED: Trouble = { kind: "permanent", code: "DATABASE_REFUSED" };

/** Serialization failure, deadlock, lock not available, statement cancelled by its timeout. */
const TRANSIENT = new Set(["40001", "40P01", "55P03", "57014", "25P03", "25P02"]);

/** Connection errors before anything was sent. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENOENT"]);

/** No class of SQLSTATE begins with E; EPIPE has five letters too. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

export function isSqlState(code: unknown): code is string {
  return typeof code === "string" && SQLSTATE.test(code);
}

/** The code of an error of the operating system, such as ECONNRESET. */
export function isSystemCode(code: unknown): code is string {
  return typeof code === "string" && /^E[A-Z]+$/.test(code);
}

export function trouble(error: unknown): Trouble {
  try {
    return judge(error);
  } catch {
    return REFUSED; // a getter that throws, a revoked proxy: not a database error
  }
}

function judge(error: unknown): Trouble {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (isSqlState(code)) {
    if (code === "55P03") return BLOCKED;
    if (TRANSIENT.has(code) || code.startsWith("53") || code === "57P03") return UNREACHABLE_TRANSIENT;
    // A pooler that refuses a setting of the connection will always do so.
    if (code === "08P01" && /startup parameter/i.test(String(message))) return REFUSED;
    if (code.startsWith("57P") || code.startsWith("08")) return UNREACHABLE_UNKNOWN;
    if (code === "25006") return READ_ONLY;
    if (code === "42501") return FORBIDDEN;
    if (code === "42P01" || code === "3F000") return MISSING;
    return REFUSED;
  }
  if (typeof code === "string" && NOT_SENT.has(code)) return UNREACHABLE_TRANSIENT;
  if (isSystemCode(code)) return UNREACHABLE_UNKNOWN;
  // The driver's own errors have no code: the connection ended, or the checkout timed out.
  if (
    typeof message === "string" &&
    /timeout exceeded when trying to connect|Cannot use a pool after/.test(message)
  ) {
    return UNREACHABLE_TRANSIENT;
  }
  if (typeof message === "string" && /connection|terminat|timeout|not queryable/i.test(message))
    return UNREACHABLE_UNKNOWN;
  return REFUSED;
}

/** The SQLSTATE of a refusal: the function `refuse` in our schema raises it. */
export const REFUSED_STATE = "AMEND";

export function violation(error: unknown, ours: string): Violation | undefined {
  const { code, schema, table, constraint } = (error ?? {}) as Readonly<Record<string, unknown>>;
  if (code === REFUSED_STATE) return { kind: "refused" };
  if (code !== "23505" || typeof table !== "string" || typeof constraint !== "string") return undefined;
  const name = schema === ours ? table : `${String(schema)}.${table}`;
  return { kind: "unique", table: name, constraint, columns: undefined };
}

/** An error of ours that reads as transient: nothing was committed. */
export function transient(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code: "25P02" });
}
