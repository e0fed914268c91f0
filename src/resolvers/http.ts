/**
 * A resolver for any system with an HTTP API, configured by data: the requests and the meaning of the statuses. The
 * runner owns the retries, so each call sends one request, with the entry's id as its idempotency key.
 */
import { positiveMs } from "../core/duration.ts";
import { RetryLater } from "../core/errors.ts";
import type { SubjectRef } from "../core/outbox/entry.ts";
import {
  ResolverError,
  type AnyResolver,
  type RectifyingResolver,
  type Resolver,
  type ResolverCall,
  type ResolverExpiry,
  type RetentionOnlyResolver,
  type VerifyingResolver,
} from "../erasure/remote/resolver.ts";
import { addressOf } from "./http-address.ts";
import { exchange, type ExchangeLimits, type HttpReply } from "./http-exchange.ts";
import {
  checkHttpOptions,
  headersNow,
  type HttpAbout,
  type HttpErasureOptions,
  type HttpExpiryOptions,
  type HttpRequest,
  type HttpResolverOptions,
  type HttpSchedule,
  type HttpVerification,
} from "./http-options.ts";
import { judgeOf } from "./http-outcome.ts";
import { retryAfterMs } from "./retry-after.ts";

/**
 * Makes a resolver for a system with an HTTP interface. Each call sends one request, with the entry's id as its
 * idempotency key; the runner retries. Throws `BAD_OPTION` if the options are not valid.
 */
export function httpResolver(options: HttpExpiryOptions): RetentionOnlyResolver;
export function httpResolver(
  options: HttpErasureOptions & { readonly rectify: HttpRequest; readonly verify: HttpVerification },
): RectifyingResolver & VerifyingResolver;
export function httpResolver(
  options: HttpErasureOptions & { readonly rectify: HttpRequest },
): RectifyingResolver;
export function httpResolver(
  options: HttpErasureOptions & { readonly verify: HttpVerification },
): VerifyingResolver;
export function httpResolver(options: HttpErasureOptions): Resolver;
export function httpResolver(options: HttpResolverOptions): AnyResolver {
  checkHttpOptions(options);
  const { name, personalRef = false } = options;
  const ask = askerOf(options);
  const named = { name, personalRef };
  if (options.schedule) return { ...named, ...scheduling(ask, options.schedule) };
  return {
    ...named,
    ...erasing(ask, options.erase),
    ...(options.rectify ? rectifying(ask, options.rectify) : {}),
    ...(options.verify ? verifying(ask, options.verify) : {}),
  };
}

/** Sends the request, and returns the reply of a success. */
type Ask = (operation: string, method: string, request: HttpRequest) => Asked;
type Asked = (about: HttpAbout, call: ResolverCall) => Promise<{ isAbsent: boolean; reply: HttpReply }>;

const about = (ref: SubjectRef, { subjectId }: ResolverCall): HttpAbout => ({
  ref,
  subjectId,
  corrections: [],
});

function erasing(ask: Ask, request: HttpRequest): Pick<Resolver, "eraseSubject"> {
  const send = ask("erase", "DELETE", request);
  return {
    async eraseSubject(ref, call) {
      const { isAbsent } = await send(about(ref, call), call);
      return isAbsent ? { alreadyAbsent: true } : {};
    },
  };
}

/** If the system does not know the subject, there is nothing to correct. */
function rectifying(ask: Ask, request: HttpRequest): Pick<RectifyingResolver, "rectifySubject"> {
  const send = ask("rectify", "PATCH", {
    body: ({ corrections }) =>
      Object.fromEntries(corrections.map(({ category, value }) => [category, value])),
    ...request,
  });
  return {
    async rectifySubject(ref, corrections, call) {
      const { isAbsent } = await send({ ...about(ref, call), corrections }, call);
      return isAbsent ? { alreadyConsistent: true } : {};
    },
  };
}

function verifying(ask: Ask, request: HttpVerification): Pick<VerifyingResolver, "verifyAbsent"> {
  const send = ask("verify", "GET", request);
  return {
    async verifyAbsent(ref, call) {
      const { isAbsent, reply } = await send(about(ref, call), call);
      return isAbsent || (request.absent?.(reply) ?? false);
    },
  };
}

function scheduling(ask: Ask, request: HttpSchedule): Pick<RetentionOnlyResolver, "scheduleErasure"> {
  const send = ask("schedule", "POST", request);
  return {
    async scheduleErasure(ref, call) {
      const { isAbsent, reply } = await send(about(ref, call), call);
      return isAbsent ? { alreadyAbsent: true } : expiryIn(reply, request.expiresAt);
    },
  };
}

function expiryIn(reply: HttpReply, expiresAt: HttpSchedule["expiresAt"]): ResolverExpiry {
  const found = typeof expiresAt === "function" ? expiresAt(reply) : dateAt(reply.json, expiresAt);
  if (found === "absent") return { alreadyAbsent: true };
  if (found instanceof Date && !Number.isNaN(found.getTime())) return { expiresAt: found };
  throw new ResolverError("http-bad-expiry", "The reply has no expiry date at `expiresAt`.");
}

/** A number could mean seconds or milliseconds, so only an ISO 8601 text is accepted. */
function dateAt(json: unknown, path: string): Date | undefined {
  let found = json;
  for (const key of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return typeof found === "string" && /^\d{4}-\d\d-\d\d/.test(found) ? new Date(found) : undefined;
}

function askerOf(options: HttpResolverOptions): Ask {
  const { name, idempotencyHeader = "Idempotency-Key" } = options;
  const limits: ExchangeLimits = {
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    replyMaxBytes: options.replyMaxBytes ?? 65_536,
    timeoutMs: positiveMs(options.timeout ?? "30s", `httpResolver ${name}: timeout`),
    timeoutLabel: "http-timeout",
    ...(options.clock ? { clock: options.clock } : {}),
  };
  return (operation, usual, request) => {
    const judge = judgeOf(request.statuses, options.statuses);
    const method = request.method ?? usual;
    const address = addressOf(request.url, `httpResolver ${name}, ${operation}`);
    return async (of, call) => {
      const { type, body } = bodyOf(request.body?.(of));
      const headers = async (): Promise<Headers> => {
        const sent = await headersNow(options.headers);
        // Uncompressed replies only, so that a small reply cannot decompress to a huge one.
        if (!sent.has("accept-encoding")) sent.set("accept-encoding", "identity");
        if (type && !sent.has("content-type")) sent.set("content-type", type);
        if (idempotencyHeader) sent.set(idempotencyHeader, call.key);
        return sent;
      };
      const reply = await exchange({ url: address(of.ref), method, headers, body }, limits, call.signal);
      const outcome = judge(reply.status);
      if (outcome === "done" || outcome === "absent") return { isAbsent: outcome === "absent", reply };
      const label = `http-${reply.status}`;
      const said = `${name} answered a request to ${operation} with status ${reply.status}.`;
      if (outcome === "permanent") throw new ResolverError(label, said);
      const afterMs = retryAfterMs(reply.headers.get("retry-after"), reply.headers.get("date"));
      throw new RetryLater(label, said, { afterMs });
    };
  };
}

function bodyOf(given: unknown): { type?: string; body: string | URLSearchParams | undefined } {
  if (given === undefined) return { body: undefined };
  if (typeof given === "string" || given instanceof URLSearchParams) return { body: given };
  return { type: "application/json", body: JSON.stringify(given) };
}
