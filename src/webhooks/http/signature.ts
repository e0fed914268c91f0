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

/** What is signed. */
export interface WebhookMessage {
  /** The same over all attempts of one delivery, and without a dot. */
  readonly id: string;
  /** Seconds since the epoch, of this attempt. */
  readonly timestamp: number;
  /** The exact bytes that are sent. */
  readonly body: Uint8Array | string;
}

/** The three headers that a signed message carries. */
export interface WebhookHeaders {
  /** The id of the message. */
  readonly "webhook-id": string;
  /** The seconds since the epoch at which it was sent. */
  readonly "webhook-timestamp": string;
  /** One signature for each secret, with a blank between them. */
  readonly "webhook-signature": string;
}

/** Signs with every secret given (`whsec_…` or `whsk_…`), newest first. */
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
