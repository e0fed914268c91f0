/** The options of an HTTP resolver, and their validation when the resolver is made. */
import type { Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { checkId } from "../core/identity.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Correction, SubjectRef } from "../core/outbox/entry.ts";
import { ResolverError } from "../erasure/remote/resolver.ts";
import type { Clock } from "../storage/clock.ts";
import type { HttpAddress } from "./http-address.ts";
import type { HttpReply } from "./http-exchange.ts";
import { checkStatuses, type HttpStatuses } from "./http-outcome.ts";

/** The values that a request's body can use. */
export interface HttpAbout {
  /** How the outside system identifies the subject. */
  readonly ref: SubjectRef;
  /** The id of the data subject in your application. */
  readonly subjectId: string;
  /** The correct values of a rectification; empty for every other request. */
  readonly corrections: readonly Correction[];
}

/** One kind of request to the outside system. */
export interface HttpRequest {
  /** The address, with the ref's values filled in. */
  readonly url: HttpAddress;
  /** The HTTP method. Default: DELETE to erase, PATCH to rectify, GET to verify, POST to schedule. */
  readonly method?: "GET" | "HEAD" | "DELETE" | "POST" | "PUT" | "PATCH";
  /**
   * Returns the body. A string and URLSearchParams are sent as they are, other values as JSON. Default: a rectification
   * sends `{ category: value, … }`; other requests send no body.
   */
  readonly body?: (about: HttpAbout) => unknown;
  /** What HTTP statuses mean for this request. It takes precedence over the `statuses` of the resolver. */
  readonly statuses?: HttpStatuses;
}

/** A request that checks whether the subject's data is gone. */
export interface HttpVerification extends HttpRequest {
  /**
   * Returns true if a 2xx reply means that the data is gone, such as an empty list. Default: 2xx means that the data is
   * still there.
   */
  readonly absent?: (reply: HttpReply) => boolean;
}

/** A request that lets the subject's data expire. */
export interface HttpSchedule extends HttpRequest {
  /**
   * Where the reply names the date by which the data expires: the path of an ISO 8601 text in its JSON, such as
   * `data.expires_at`, or a function. A repeated call must give the same date, and "absent" once the data is gone.
   */
  readonly expiresAt: string | ((reply: HttpReply) => Date | "absent");
}

/** Request headers by name. */
export type HttpHeaders = Readonly<Record<string, string>>;

interface HttpSystem {
  /** The name of the resolver. It handles every ref of this `kind`. */
  readonly name: string;
  /**
   * True if the value of a ref is personal data itself, such as an email address. It is removed from the row once the
   * entry is done. Default: false.
   */
  readonly personalRef?: boolean;
  /** Headers of every request. A function is called for each request, for tokens that change. Default: none. */
  readonly headers?: HttpHeaders | (() => HttpHeaders | Promise<HttpHeaders>);
  /** The header that carries the entry's id; false sends none. Default: "Idempotency-Key". */
  readonly idempotencyHeader?: string | false;
  /** The timeout of one request, headers and body included. Default: 30s. */
  readonly timeout?: Duration;
  /** The largest part of a reply that is read, in bytes. A longer reply counts as one without JSON. Default: 64 KiB. */
  readonly replyMaxBytes?: number;
  /**
   * What HTTP statuses mean for this system. Default: 2xx is done; 404 and 410 are absent; 408, 409, 423, 425, 429 and
   * 5xx are transient; every other status is permanent.
   */
  readonly statuses?: HttpStatuses;
  /** Replaces `fetch`, for example for a proxy or client certificates. Default: the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** The clock behind timeouts. Default: real time. */
  readonly clock?: Clock;
}

/** The description of a system that can erase, and optionally correct and verify. */
export interface HttpErasureOptions extends HttpSystem {
  /** The request that erases. */
  readonly erase: HttpRequest;
  /** The request that corrects. Default: the resolver cannot rectify. */
  readonly rectify?: HttpRequest;
  /** The request that checks whether the data is gone. Default: the resolver cannot verify. */
  readonly verify?: HttpVerification;
  /** Not allowed beside `erase`. */
  readonly schedule?: never;
}

/** The description of a system that cannot erase, and in which data can only expire. */
export interface HttpExpiryOptions extends HttpSystem {
  /** The request that lets the data expire. */
  readonly schedule: HttpSchedule;
  /** Not allowed beside `schedule`. */
  readonly erase?: never;
  /** Not allowed beside `schedule`. */
  readonly rectify?: never;
  /** Not allowed beside `schedule`. */
  readonly verify?: never;
}

/** The description of an outside system with an HTTP interface. */
export type HttpResolverOptions = HttpErasureOptions | HttpExpiryOptions;

const SYSTEM =
  "name personalRef headers idempotencyHeader timeout replyMaxBytes statuses fetch clock erase rectify verify schedule";
const REQUEST = ["url", "method", "body", "statuses"];
const FURTHER: Readonly<Record<string, readonly string[]>> = { verify: ["absent"], schedule: ["expiresAt"] };

export function checkHttpOptions(options: HttpResolverOptions): void {
  refuseUnknown(options, SYSTEM.split(" "), "httpResolver");
  checkId(options.name, "httpResolver: the name", 255);
  const where = `httpResolver ${options.name}`;
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_OPTION", `${where} ${why}.`);
  };
  if (!options.erase === !options.schedule) refuse("needs either erase or schedule");
  if (options.schedule && (options.rectify || options.verify)) {
    refuse("has schedule, so that it can have neither rectify nor verify");
  }
  const { replyMaxBytes = 1 } = options;
  if (!Number.isSafeInteger(replyMaxBytes) || replyMaxBytes < 1) {
    refuse("needs a whole number of at least 1 as replyMaxBytes");
  }
  if (typeof options.headers !== "function" && !headersOf(options.headers)) {
    refuse("has headers with a name or a value that HTTP does not allow");
  }
  const { idempotencyHeader = "Idempotency-Key" } = options;
  if (idempotencyHeader !== false && !headersOf({ [idempotencyHeader]: "key" })) {
    refuse("has an idempotencyHeader that HTTP does not allow as a name");
  }
  checkStatuses(options.statuses, where);
  for (const operation of ["erase", "rectify", "verify", "schedule"] as const) {
    const request = options[operation];
    if (request === undefined) continue;
    refuseUnknown(request, [...REQUEST, ...(FURTHER[operation] ?? [])], `${where}, ${operation}`);
    checkStatuses(request.statuses, `${where}, ${operation}`);
    if (request.body && (request.method === "GET" || request.method === "HEAD")) {
      refuse(`cannot send a body with ${request.method}`);
    }
  }
  if (options.schedule && !["string", "function"].includes(typeof options.schedule.expiresAt)) {
    refuse("needs expiresAt: where the reply says when the data is gone");
  }
}

/** The headers of one request. The error does not contain them, because they may be secrets. */
export async function headersNow(given: HttpSystem["headers"]): Promise<Headers> {
  const headers = headersOf(typeof given === "function" ? await given() : given);
  if (headers) return headers;
  throw new ResolverError("http-bad-headers", "The headers have a name or a value that HTTP does not allow.");
}

function headersOf(given: HttpHeaders | undefined): Headers | undefined {
  try {
    return new Headers({ ...given });
  } catch {
    return undefined;
  }
}
