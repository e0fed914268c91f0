/**
 * Classifies Stripe errors by shape, not by class, because the application brings its own client. Stripe's messages
 * name the customer, so only its codes, which come from a fixed list, are passed on.
 */
import { errorLabel, RetryLater } from "../core/errors.ts";
import { ResolverError } from "../erasure/remote/resolver.ts";
import { retryAfterMs } from "./retry-after.ts";

export interface StripeTrouble {
  readonly kind: "absent" | "permanent" | "transient";
  readonly label: string;
  /** Stripe repeats this answer for the same idempotency key: a retry needs another key. */
  readonly isKeySpent: boolean;
  readonly afterMs: number | undefined;
}

interface StripeErrorShape {
  readonly type?: unknown;
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly message?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export function stripeTrouble(thrown: unknown): StripeTrouble {
  const error = (typeof thrown === "object" && thrown !== null ? thrown : {}) as StripeErrorShape;
  const type = typeof error.type === "string" ? error.type : "";
  const status = typeof error.statusCode === "number" ? error.statusCode : undefined;
  const code = typeof error.code === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(error.code) ? error.code : "";
  const isReplayed = error.headers?.["idempotent-replayed"] === "true";
  const trouble = (kind: StripeTrouble["kind"], label: string): StripeTrouble => ({
    kind,
    label: `stripe-${label}`,
    isKeySpent: type === "StripeIdempotencyError" || (isReplayed && (status ?? 0) >= 500),
    afterMs: retryAfterMs(error.headers?.["retry-after"], error.headers?.["date"]),
  });
  const message = String(error.message);
  if (code === "resource_missing" || (status === 404 && message.startsWith("No such customer"))) {
    // With an API key of the other mode (test or live) no customer is found, although the customer exists.
    const isOtherMode = /similar object exists in (?:live|test) mode/.test(message);
    return isOtherMode ? trouble("permanent", "wrong-mode") : trouble("absent", "resource_missing");
  }
  if (status === undefined) {
    // No response from Stripe: no connection, or the client failed before it sent anything.
    return trouble("transient", type === "StripeConnectionError" ? "connection" : errorLabel(thrown));
  }
  const label = code || `http-${status}`;
  const passes = status === 409 || status === 429 || status >= 500 || code === "rate_limit";
  return trouble(passes ? "transient" : "permanent", label);
}

export function stripeFailure({ kind, label, afterMs }: StripeTrouble, operation: string): Error {
  const message = `Stripe could not ${operation} the customer (${label}).`;
  return kind === "permanent"
    ? new ResolverError(label, message)
    : new RetryLater(label, message, { afterMs });
}
