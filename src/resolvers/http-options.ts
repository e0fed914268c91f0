/** What a generic HTTP system is described by, and the check of it when the resolver is made. */
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

/** What a body is made of. `corrections` is empty unless something is corrected. */
export interface HttpAbout {
  /** The person in the other system. */
  readonly ref: SubjectRef;
  /** The person in this application. */
  readonly subjectId: string;
  /** The right values, for a rectification. */
  readonly corrections: readonly Correction[];
}

/** One request to the other system. */
export interface HttpRequest {
  /** Where the request goes. */
  readonly url: HttpAddress;
  /** DELETE to erase, PATCH to rectify, GET to verify and POST to schedule, unless given. */
  readonly method?: "GET" | "HEAD" | "DELETE" | "POST" | "PUT" | "PATCH";
  /**
   * Sent as JSON; a text or URLSearchParams as it is. A correction sends `{ category: value, … }` unless given;
   * everything else sends no body.
   */
  readonly body?: (about: HttpAbout) => unknown;
  /** What statuses mean for this request, before what they mean for all. */
  readonly statuses?: HttpStatuses;
}

/** The request that looks whether the data is gone. */
export interface HttpVerification extends HttpRequest {
  /** For systems that answer 200 and an empty list: is the subject gone? Without it, 2xx means still there. */
  readonly absent?: (reply: HttpReply) => boolean;
}

/** The request that asks when the data will be gone. */
export interface HttpSchedule extends HttpRequest {
  /**
   * Where the reply says when the data is gone: the path of an ISO 8601 text in its JSON, such as
   * `data.expires_at`, or a function. It must say the same when it is asked again, and "absent" once the data is gone.
   */
  readonly expiresAt: string | ((reply: HttpReply) => Date | "absent");
}

/** Headers by their names. */
export type HttpHeaders = Readonly<Record<string, string>>;

interface HttpSystem {
  /** A ref goes to the resolver whose name equals its kind. */
  readonly name: string;
  /** The ref's value is personal data itself (an email address): scrubbed once the entry is done with. */
  readonly personalRef?: boolean;
  /** Sent with every request. A function is asked each time: for tokens that change. */
  readonly headers?: HttpHeaders | (() => HttpHeaders | Promise<HttpHeaders>);
  /** The header that carries the entry's id: `Idempotency-Key` unless given; false for none. */
  readonly idempotencyHeader?: string | false;
  /** For one request, headers and body together: 30 seconds unless given. */
  readonly timeout?: Duration;
  /** At most so much of a reply is read: 64 KiB unless given. */
  readonly replyMaxBytes?: number;
  /** What statuses mean here, before what they mean in general. */
  readonly statuses?: HttpStatuses;
  /** The platform's own unless given: for a proxy, for client certificates. */
  readonly fetch?: typeof globalThis.fetch;
  /** Real time unless given. */
  readonly clock?: Clock;
}

/** A system that erases when it is asked to. */
export interface HttpErasureOptions extends HttpSystem {
  /** The request that erases. */
  readonly erase: HttpRequest;
  /** The request that corrects. */
  readonly rectify?: HttpRequest;
  /** The request that looks whether the data is gone. */
  readonly verify?: HttpVerification;
  /** Only for a system that erases by itself. */
  readonly schedule?: never;
}

/** For a system that cannot erase and can only let the data expire. */
export interface HttpExpiryOptions extends HttpSystem {
  /** The request that asks when the data will be gone. */
  readonly schedule: HttpSchedule;
  /** Only for a system that erases when it is asked to. */
  readonly erase?: never;
  /** Only for a system that erases when it is asked to. */
  readonly rectify?: never;
  /** Only for a system that erases when it is asked to. */
  readonly verify?: never;
}

/** The options of `httpResolver`. */
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

/** The headers of one request. What is wrong with them is not repeated: there are secrets in it. */
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
