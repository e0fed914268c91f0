/** For receivers of webhooks: verify, recognise repetitions, and sign in tests. Needs no database. */
import { verify, type ReceivedHeaders, type VerifiedWebhook } from "./webhooks/http/verify.ts";
import type { Duration } from "./core/duration.ts";

export interface VerifyWebhookOptions {
  /** How old a request may be, and how far ahead of this clock: 5 minutes. */
  readonly tolerance?: Duration;
  /** The current time, for tests. */
  readonly now?: Date;
}

/**
 * Is this request signed with one of the secrets (`whsec_…`, or `whpk_…` for Ed25519), unchanged and fresh? Throws a
 * `WebhookVerificationError` with a reason if it is not. `rawBody` is the body as it arrived, before parsing.
 */
export function verifyWebhook(
  headers: ReceivedHeaders,
  rawBody: Uint8Array | string,
  secrets: string | readonly string[],
  options: VerifyWebhookOptions = {},
): VerifiedWebhook {
  return verify(headers, rawBody, secrets, { ...options, now: options.now ?? new Date() });
}

export {
  WebhookVerificationError,
  type ReceivedHeaders,
  type RefusedReason,
  type VerifiedWebhook,
} from "./webhooks/http/verify.ts";
export {
  dedupeWebhooks,
  type DedupeOptions,
  type SeenStore,
  type WebhookDedupe,
} from "./webhooks/http/dedupe.ts";
export { signWebhook, type WebhookHeaders, type WebhookMessage } from "./webhooks/http/signature.ts";
export {
  generateWebhookKeyPair,
  generateWebhookSecret,
  type WebhookKeyPair,
} from "./webhooks/http/secret.ts";
