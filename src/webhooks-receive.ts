/**
 * For receivers of webhooks: verify a request, and recognise repetitions. It needs no database and nothing of Node.js,
 * so it runs at the edge, in Deno and in Bun as well.
 */
import type { Duration } from "./core/duration.ts";
import { verify, type ReceivedHeaders, type VerifiedWebhook } from "./webhooks/receive/verify.ts";

/** The options of `verifyWebhook`. */
export interface VerifyWebhookOptions {
  /** How old a request may be, and how far ahead of this clock. Default: 5m. */
  readonly tolerance?: Duration;
  /** The current time, for tests. */
  readonly now?: Date;
}

/**
 * Verifies a webhook request: resolves if it is signed with one of the secrets (`whsec_…`, or `whpk_…` for Ed25519),
 * unchanged and recent. Rejects with a `WebhookVerificationError` if it is not. `rawBody` is the body before parsing.
 */
export function verifyWebhook(
  headers: ReceivedHeaders,
  rawBody: Uint8Array | string,
  secrets: string | readonly string[],
  options: VerifyWebhookOptions = {},
): Promise<VerifiedWebhook> {
  return verify(headers, rawBody, secrets, { ...options, now: options.now ?? new Date() });
}

export {
  WebhookVerificationError,
  type ReceivedHeaders,
  type RefusedReason,
  type VerifiedWebhook,
} from "./webhooks/receive/verify.ts";
export {
  dedupeWebhooks,
  type DedupeOptions,
  type MonotonicClock,
  type SeenStore,
  type WebhookDedupe,
} from "./webhooks/receive/dedupe.ts";
export { AmendsError } from "./core/errors.ts";
