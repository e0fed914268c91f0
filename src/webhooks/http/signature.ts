/**
 * Signatures as Standard Webhooks defines them: v1 is HMAC-SHA256, v1a is Ed25519, both over id.timestamp.body with
 * the body's exact bytes. While secrets are rotated, a message carries one signature for each that is alive.
 */
import { createHmac, sign } from "node:crypto";
import { AmendsError } from "../../core/errors.ts";
import {
  ID_HEADER,
  isWebhookId,
  SIGNATURE_HEADER,
  signedPrefix,
  TIMESTAMP_HEADER,
  writeSignatures,
  type Signature,
} from "../../core/delivery/signature-text.ts";
import { readSecret, type AnySecret, type SharedSecret } from "./secret.ts";

/** A webhook to sign. */
export interface WebhookMessage {
  /**
   * The header `webhook-id`: the same over all attempts of one delivery. 1 to 255 printable ASCII characters without a
   * dot.
   */
  readonly id: string;
  /** The time of this attempt in seconds since the epoch. */
  readonly timestamp: number;
  /** The body, exactly as it is sent. */
  readonly body: Uint8Array | string;
}

/** The three headers of a signed webhook. */
export interface WebhookHeaders {
  /** The id of the webhook. */
  readonly "webhook-id": string;
  /** The time of the attempt in seconds since the epoch. */
  readonly "webhook-timestamp": string;
  /** One signature per secret, separated by spaces. */
  readonly "webhook-signature": string;
}

/**
 * Signs a webhook with every secret (`whsec_…` or `whsk_…`), the newest first. Throws `BAD_ID`, `BAD_INPUT` or
 * `BAD_SECRET` if an argument is not valid.
 */
export function signWebhook(message: WebhookMessage, secrets: string | readonly string[]): WebhookHeaders {
  const all = typeof secrets === "string" ? [secrets] : secrets;
  return signMessage(
    message,
    all.map((secret) => readSecret(secret, "A webhook's secret")),
  );
}

/** The same, with secrets that were read before. */
export function signMessage(message: WebhookMessage, secrets: readonly AnySecret[]): WebhookHeaders {
  const { id, timestamp } = message;
  if (!isWebhookId(id)) {
    throw new AmendsError(
      "BAD_ID",
      "A webhook's id must be 1 to 255 printable ASCII characters without a dot.",
    );
  }
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new AmendsError("BAD_INPUT", "A webhook's timestamp must be whole seconds since the epoch.");
  }
  if (secrets.length === 0) {
    throw new AmendsError("BAD_SECRET", "A webhook needs at least one secret to be signed with.");
  }
  return {
    [ID_HEADER]: id,
    [TIMESTAMP_HEADER]: String(timestamp),
    [SIGNATURE_HEADER]: writeSignatures(secrets.map((secret) => signOne(message, secret))),
  };
}

function signOne(message: WebhookMessage, secret: AnySecret): Signature {
  if (secret.kind === "shared") return { version: "v1", value: hmac(message, secret).toString("base64") };
  if (secret.kind === "private") {
    return { version: "v1a", value: sign(null, signedBytes(message), secret.key).toString("base64") };
  }
  throw new AmendsError(
    "BAD_SECRET",
    "A public key (whpk_) verifies; it cannot sign. Give the private one (whsk_).",
  );
}

function hmac({ id, timestamp, body }: WebhookMessage, { key }: SharedSecret): Buffer {
  return createHmac("sha256", key).update(signedPrefix(id, timestamp)).update(body).digest();
}

function signedBytes({ id, timestamp, body }: WebhookMessage): Uint8Array {
  return Buffer.concat([Buffer.from(signedPrefix(id, timestamp)), Buffer.from(body)]);
}
