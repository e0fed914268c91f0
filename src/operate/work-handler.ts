/**
 * A handler for a platform's cron route: each request runs due work within a budget of time. It takes and returns the
 * `Request` and `Response` of the web platform, which Next.js, Hono, Bun, Deno and the cloud functions have.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { PartContext } from "../runtime/part.ts";
import type { RunReport } from "./budget/run-within.ts";
import type { Worker, WorkerOptions } from "./worker.ts";

/** The options of `workHandler`. */
export interface WorkHandlerOptions extends Pick<WorkerOptions, "concurrency" | "only"> {
  /**
   * How long a request may take: a little less than the platform allows, such as `8s` of 10 seconds. From an environment
   * variable: a number of milliseconds, `Number(process.env.WORK_BUDGET_MS)`.
   */
  readonly budget: Duration;
  /**
   * Requests must send it as `authorization: Bearer <secret>`. At least 16 characters. A function is called for each request,
   * so that a build can load the route without the secret: `() => process.env.CRON_SECRET`.
   */
  readonly secret: string | (() => string | undefined);
}

/** What the handler needs of an Amends. */
export interface WorkSource {
  /** Makes a worker. */
  worker(options?: WorkerOptions): Worker;
  /** @internal Where a missing secret is logged. */
  readonly context?: Pick<PartContext, "warn">;
}

const SECRET_MIN = 16;
const RETRY_AFTER_S = "10";
const NO_SECRET =
  "amends: the function `secret` of workHandler returned no text of at least 16 characters, so the request was refused: set the variable that it reads";

/**
 * Makes a handler that runs due work for each request with the secret, and answers with the report of the run as JSON:
 * `items`, `more` and `nextAt`. Requests that come while it runs get the same report. It answers 503 if the database cannot
 * be reached, and 500 while the function `secret` returns no valid secret.
 */
export function workHandler(
  amends: WorkSource,
  options: WorkHandlerOptions,
): (request: Request) => Promise<Response> {
  refuseUnknown(options, ["budget", "secret", "concurrency", "only"], "workHandler");
  const { budget, secret, ...workerOptions } = options;
  positiveMs(budget, "The budget of workHandler");
  if (typeof secret !== "function" && !isSecret(secret)) {
    throw new AmendsError(
      "BAD_OPTION",
      `The secret of workHandler must be a text of at least ${SECRET_MIN} characters: a request that has it makes this process work. If the build loads this file without the secret, pass a function: \`secret: () => process.env.CRON_SECRET\`.`,
      { field: "secret" },
    );
  }
  const worker = amends.worker(workerOptions);
  let running: Promise<RunReport> | undefined;
  return async (request) => {
    // The header is read first: `next build` calls GET to render it, and stops at the first thing that only a request has.
    const given = hashOf(request.headers.get("authorization") ?? "");
    if (request.method !== "GET" && request.method !== "POST")
      return answer(405, { code: "METHOD_NOT_ALLOWED" });
    const expected = typeof secret === "function" ? secret() : secret;
    if (!isSecret(expected)) {
      amends.context?.warn({ secretMin: SECRET_MIN }, NO_SECRET);
      return answer(500, { code: "NO_SECRET" });
    }
    if (!timingSafeEqual(given, hashOf(`Bearer ${expected}`))) return answer(401, { code: "UNAUTHORIZED" });
    running ??= worker.runOnce({ budget }).finally(() => (running = undefined));
    try {
      return answer(200, await running);
    } catch (error) {
      if (!(error instanceof AmendsError) || error.code !== "DATABASE_UNREACHABLE") throw error;
      return answer(503, { code: error.code }, { "retry-after": RETRY_AFTER_S });
    }
  };
}

function isSecret(given: unknown): given is string {
  return typeof given === "string" && given.length >= SECRET_MIN;
}

/** Hashes have one length, and the comparison of hashes tells nothing about the secret. */
function hashOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

function answer(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", ...headers } });
}
