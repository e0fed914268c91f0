/**
 * The one failure taxonomy. A returned `err` is a business failure; a thrown `Terminal` is a permanent failure; any
 * other thrown error is transient and retried, `RetryLater` with a minimum wait. `AmendsError` means that a call
 * was refused: its code is for programs, its message tells developers what to do. Only the label of an error is
 * stored or reported.
 */
import type { ErrorCode } from "./error/code.ts";

export type { ErrorCode };

/** Thrown when Amends refuses a call. Nothing was written, except where the message says so. */
export class AmendsError extends Error {
  /** The kind of error, for programs: codes are stable, messages are not. */
  readonly code: ErrorCode;
  /** Further facts for programs, such as ids and names; never personal data. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "AmendsError";
    this.code = code;
    this.details = details;
  }
}

export function closedError(): AmendsError {
  return new AmendsError("CLOSED", "This Amends was closed. Make a new one.");
}

/** Thrown when another writer changed the saga first. Nothing was written: load the saga again and decide again. */
export class SagaConcurrencyError extends AmendsError {
  constructor(sagaId: string, expected: number, found: number) {
    super(
      "SAGA_CONCURRENCY",
      `Another writer changed the saga: version ${expected} was expected, version ${found} was found. Load the saga again and decide again.`,
      { sagaId, expected, found },
    );
    this.name = "SagaConcurrencyError";
  }
}

/** Thrown when the configuration of a part contradicts itself or does not support the call. Nothing was written. */
export class ConfigurationError extends AmendsError {
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super("CONFIGURATION", message, details);
    this.name = "ConfigurationError";
  }
}

/**
 * Throw this for a permanent failure: the call is not retried. `code` is stored as the error's label, `message` is not
 * stored.
 */
export class Terminal extends Error {
  /** The label under which the error is stored and shown. */
  readonly code: string;

  constructor(code: string, message: string = code, options?: ErrorOptions) {
    super(message, options);
    this.name = "Terminal";
    this.code = code;
  }
}

/**
 * The brands of the errors that user code throws. Two copies of the package in one process (two versions, two bundles)
 * have two classes, so `instanceof` would take the other copy's error for any other throw.
 */
const TERMINAL = Symbol.for("amends.Terminal");
const RETRY_LATER = Symbol.for("amends.RetryLater");
Object.defineProperty(Terminal.prototype, TERMINAL, { value: true });

function isTerminal(thrown: unknown): thrown is Terminal {
  return hasBrand(thrown, TERMINAL);
}

function isRetryLater(thrown: unknown): thrown is RetryLater {
  return hasBrand(thrown, RETRY_LATER);
}

function hasBrand(thrown: unknown, brand: symbol): boolean {
  return typeof thrown === "object" && thrown !== null && (thrown as Record<symbol, unknown>)[brand] === true;
}

/** The options of a `RetryLater`. */
export interface RetryLaterOptions {
  /**
   * The least wait before the next attempt in milliseconds. Negative and infinite values are ignored. Default: the
   * schedule decides.
   */
  readonly afterMs?: number | undefined;
}

/**
 * Throw this for a temporary failure: the call is retried. `code` is stored as the error's label, `message` is not
 * stored. `afterMs` is the wait that the other side asked for, such as in `Retry-After`: it makes the wait longer than
 * the schedule would, up to 24 hours, never shorter.
 */
export class RetryLater extends Error {
  /** The label under which the error is stored and shown. */
  readonly code: string;
  /** The least wait before the next attempt in milliseconds; undefined leaves it to the schedule. */
  readonly afterMs: number | undefined;

  constructor(code: string, message: string = code, { afterMs }: RetryLaterOptions = {}) {
    super(message);
    this.name = "RetryLater";
    this.code = code;
    this.afterMs = afterMs !== undefined && afterMs >= 0 && Number.isFinite(afterMs) ? afterMs : undefined;
  }
}

Object.defineProperty(RetryLater.prototype, RETRY_LATER, { value: true });

/** The longest wait that `RetryLater` can ask for. */
export const RETRY_LATER_MAX_MS = 86_400_000;

/** The wait after a throw: the schedule's delay, or the wait that the other side asked for if that is longer. */
export function waitAfter(thrown: unknown, scheduledMs: number): number {
  return Math.max(scheduledMs, askedWait(thrown) ?? 0);
}

/** The wait that the other side asked for, in milliseconds; undefined if it asked for none. */
export function askedWait(thrown: unknown): number | undefined {
  try {
    const askedMs = isRetryLater(thrown) ? thrown.afterMs : undefined;
    return askedMs === undefined ? undefined : Math.min(askedMs, RETRY_LATER_MAX_MS);
  } catch {
    return undefined; // a proxy that does not show its prototype
  }
}

/** Error codes of the platform and the databases that never contain personal data. */
const REGISTERED: ReadonlySet<string> = new Set(
  [
    "ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH",
    "ENOENT EACCES EPERM EEXIST ENOSPC EMFILE ENOMEM EROFS EBUSY ABORT_ERR",
    "UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT UND_ERR_SOCKET",
    "40001 40P01 57P01 53300 55P03 23505 23503 23514 23502",
  ].flatMap((line) => line.split(" ")),
);

const IDENTIFIER = /^[A-Za-z_$][\w$]{0,254}$/;
const CODE = /^[A-Za-z0-9][\w.:-]{0,254}$/;

/** The label of a thrown value: a registered code, otherwise a class name, otherwise `UnknownError`. */
export function errorLabel(thrown: unknown, registered: ReadonlySet<string> = REGISTERED): string {
  if (typeof thrown !== "object" || thrown === null) return "UnknownError";
  try {
    const { code } = thrown as { code?: unknown };
    if (typeof code === "string") {
      if (isTerminal(thrown) || isRetryLater(thrown) || thrown instanceof AmendsError) {
        if (CODE.test(code)) return code;
      } else if (REGISTERED.has(code) || registered.has(code)) return code;
    }
    const name = (thrown.constructor as { name?: unknown } | undefined)?.name;
    return typeof name === "string" && name !== "Object" && IDENTIFIER.test(name) ? name : "UnknownError";
  } catch {
    return "UnknownError"; // a getter that throws, a revoked proxy
  }
}

const MESSAGE_MAX = 1_000;

/** The message of a thrown value, for applications that opted in to store it: at most 1,000 characters. */
export function errorMessage(thrown: unknown): string | undefined {
  try {
    const message =
      typeof thrown === "string" ? thrown : (thrown as { message?: unknown } | null | undefined)?.message;
    return typeof message === "string" ? message.slice(0, MESSAGE_MAX).replaceAll("\0", "") : undefined;
  } catch {
    return undefined; // a getter that throws, a revoked proxy
  }
}

/** A label and, if stored, the message after it, in one text. */
export function labelWithMessage(label: string, message: string | undefined): string {
  return message === undefined || message === "" ? label : `${label}: ${message}`;
}

/** The label alone. A label contains no space. */
export function labelIn(text: string): string {
  return text.split(": ", 1)[0] as string;
}

/**
 * What a refusal means for the work that met it. A code that is not here means that the call is wrong: a retry cannot succeed.
 *
 * `away`: the database does not answer, and that passes by itself. `read-only`: it answers and cannot be written, which a failover
 * or a person ends. `unrepaired`: it lacks a table or a right of ours until a person adds it. `overtaken`: another writer was faster.
 */
type Meaning = "away" | "read-only" | "unrepaired" | "overtaken";

const MEANINGS: Readonly<Partial<Record<ErrorCode, Meaning>>> = {
  DATABASE_UNREACHABLE: "away",
  DATABASE_READ_ONLY: "read-only",
  DATABASE_FORBIDDEN: "unrepaired",
  SCHEMA_MISSING: "unrepaired",
  SAGA_CONCURRENCY: "overtaken",
};

function meaningOf(thrown: unknown): Meaning | undefined {
  return thrown instanceof AmendsError ? MEANINGS[thrown.code] : undefined;
}

/** The database is at fault, not the work. */
export function isOutage(thrown: unknown): thrown is AmendsError {
  const meaning = meaningOf(thrown);
  return meaning !== undefined && meaning !== "overtaken";
}

/** The database takes no write at all now, whatever the write is. */
export function isUnavailable(thrown: unknown): thrown is AmendsError {
  const meaning = meaningOf(thrown);
  return meaning === "away" || meaning === "read-only";
}

/** The write may succeed unchanged once a person has repaired the database. */
export function isLasting(thrown: unknown): thrown is AmendsError {
  const meaning = meaningOf(thrown);
  return meaning === "read-only" || meaning === "unrepaired";
}

/** Is this permanent (no retry) or transient (retried on the schedule)? */
export function classify(thrown: unknown): "permanent" | "transient" {
  try {
    if (isTerminal(thrown)) return "permanent";
    const isPassing = isUnavailable(thrown) || meaningOf(thrown) === "overtaken";
    return thrown instanceof AmendsError && !isPassing ? "permanent" : "transient";
  } catch {
    return "transient"; // a proxy that does not show its prototype
  }
}
