/**
 * Builds every response, so that each has all of the headers. Stored data is sent as JSON only, so that no browser
 * reads it as markup.
 */
import { createHash } from "node:crypto";
import { AmendsError, type ErrorCode } from "../../core/errors.ts";
import type { Problem } from "../contract.ts";

export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};

export function answer(
  body: ConstructorParameters<typeof Response>[0],
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers } });
}

export function json(
  value: unknown,
  status: number = 200,
  headers?: Readonly<Record<string, string>>,
): Response {
  return answer(JSON.stringify(value), status, {
    ...headers,
    "content-type": "application/json; charset=utf-8",
  });
}

/**
 * The response to a read, with an ETag: a request whose If-None-Match matches gets 304 without a body. The browser
 * still caches nothing: the pages keep the tags themselves.
 */
export function tagged(value: unknown, request: Request): Response {
  const text = JSON.stringify(value);
  const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  if (request.headers.get("if-none-match") === etag) return answer(null, 304, { etag });
  return answer(text, 200, { etag, "content-type": "application/json; charset=utf-8" });
}

/** A request that is refused before a handler was asked, or by one. */
export class Refused extends Error {
  readonly status: number;
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, problem: Problem, headers: Readonly<Record<string, string>> = {}) {
    super(problem.message);
    this.status = status;
    this.problem = problem;
    this.headers = headers;
  }
}

export function badInput(field: string, why: string): Refused {
  return new Refused(400, { code: "BAD_INPUT", message: `${field} ${why}.`, field });
}

export function notFound(what: string): Refused {
  return new Refused(404, { code: "NOT_FOUND", message: `No ${what}.` });
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  SAGA_NOT_FOUND: 404,
  NOT_ALLOWED_NOW: 409,
  CANCEL_REFUSED: 409,
  REVERSE_REFUSED: 409,
  SAGA_CONCURRENCY: 409,
  SAGA_CONFLICT: 409,
  BULK_CONFLICT: 409,
  BAD_ID: 400,
  BAD_INPUT: 400,
  BAD_JSON: 400,
  BAD_OPTION: 400,
  BAD_DURATION: 400,
  NOT_SUPPORTED: 501,
};

/** Transient errors, and errors that the owner of the process must fix: the browser gets no details. */
const UNAVAILABLE: ReadonlySet<ErrorCode> = new Set([
  "CLOSED",
  "DATABASE_READ_ONLY",
  "DATABASE_UNREACHABLE",
  "SCHEMA_MISSING",
  "SCHEMA_TOO_NEW",
]);

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  SCHEMA_MISSING:
    "A table of Amends is missing, or older than this version. Run amends doctor, or amends migrate.",
};

/** An error as a response. Messages of refusals are shown; details of any other error are not. */
export function problemAnswer(error: unknown): Response {
  if (error instanceof Refused) return json(error.problem, error.status, error.headers);
  if (error instanceof AmendsError) {
    const status = STATUS[error.code] ?? (error.code.endsWith("_NOT_FOUND") ? 404 : undefined);
    if (status !== undefined) return json(problemOf(error), status);
    if (UNAVAILABLE.has(error.code)) {
      const message = MESSAGES[error.code] ?? "The database cannot be used at the moment. Try again.";
      return json({ code: error.code, message } satisfies Problem, 503);
    }
  }
  return json(
    {
      code: "INTERNAL",
      message: "The request failed unexpectedly. The log of the console's process has the error.",
    } satisfies Problem,
    500,
  );
}

/** An option that a part refused by its field was a parameter of the request. */
function problemOf({ code, message, details: { field } }: AmendsError): Problem {
  if (code === "BAD_OPTION" && typeof field === "string") return { code: "BAD_INPUT", message, field };
  return { code, message };
}

/** Unexpected errors: these are logged. */
export function isUnforeseen(error: unknown): boolean {
  return problemAnswer(error).status === 500;
}
