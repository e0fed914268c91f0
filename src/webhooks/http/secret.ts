/**
 * Signing secrets as Standard Webhooks writes them: `whsec_` and base64 for a secret that both sides share, `whsk_`
 * and `whpk_` for the two halves of an Ed25519 key. What is given is never repeated in an error.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  type KeyObject,
} from "node:crypto";
import { AmendsError } from "../../core/errors.ts";

export const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 256;
const GENERATED_BYTES = 32;
const HALF_BYTES = 32;

/** Shared by both sides: signs and verifies. */
export interface SharedSecret {
  readonly kind: "shared";
  readonly key: Uint8Array;
}

/** The sender's half of a key pair. */
export interface PrivateSecret {
  readonly kind: "private";
  readonly key: KeyObject;
}

/** The receiver's half of a key pair. */
export interface PublicSecret {
  readonly kind: "public";
  readonly key: KeyObject;
}

export type AnySecret = SharedSecret | PrivateSecret | PublicSecret;

export interface WebhookKeyPair {
  /** `whsk_…`: stays with the sender. */
  readonly privateKey: string;
  /** `whpk_…`: for receivers. */
  readonly publicKey: string;
}

/** A new shared secret, `whsec_…`. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(GENERATED_BYTES).toString("base64")}`;
}

/** A new Ed25519 key pair, for receivers who must not be able to sign. */
export function generateWebhookKeyPair(): WebhookKeyPair {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  const seed = Buffer.from(d, "base64url");
  const point = Buffer.from(x, "base64url");
  // The seed with the public half behind it is the form that other implementations expect.
  return {
    privateKey: `whsk_${Buffer.concat([seed, point]).toString("base64")}`,
    publicKey: `whpk_${point.toString("base64")}`,
  };
}

/** Reads any of the three forms. `field` names where it was given. */
export function readSecret(text: unknown, field: string): AnySecret {
  const [, kind, encoded = ""] = (typeof text === "string" && /^(whsec|whsk|whpk)_(.*)$/s.exec(text)) || [];
  if (kind === undefined) {
    return refuse(field, "must be a text that begins with whsec_, whsk_ or whpk_");
  }
  const bytes = Buffer.from(encoded, "base64");
  // Node skips what is not base64. A secret with a typing error must not become a shorter secret.
  if (bytes.toString("base64").replace(/=+$/, "") !== encoded.replace(/=+$/, "")) {
    return refuse(field, `must be plain base64 after ${kind}_`);
  }
  if (kind === "whsec") return readShared(bytes, field);
  return kind === "whsk" ? readPrivate(bytes, field) : readPublic(bytes, field);
}

function readShared(key: Buffer, field: string): SharedSecret {
  if (key.length < SECRET_BYTES_MIN || key.length > SECRET_BYTES_MAX) {
    return refuse(
      field,
      `must hold ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes (this one holds ${key.length})`,
    );
  }
  return { kind: "shared", key };
}

function readPrivate(bytes: Buffer, field: string): PrivateSecret {
  if (bytes.length !== HALF_BYTES && bytes.length !== 2 * HALF_BYTES) {
    return refuse(field, "must hold an Ed25519 private key: 32 bytes, or 64 with its public half");
  }
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, bytes.subarray(0, HALF_BYTES)]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  const given = bytes.subarray(HALF_BYTES);
  if (given.length > 0 && !given.equals(Buffer.from(x, "base64url"))) {
    return refuse(field, "holds two halves that do not belong together");
  }
  return { kind: "private", key };
}

function readPublic(bytes: Buffer, field: string): PublicSecret {
  if (bytes.length !== HALF_BYTES) return refuse(field, "must hold an Ed25519 public key of 32 bytes");
  return {
    kind: "public",
    key: createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: "der", type: "spki" }),
  };
}

/** What DER puts in front of the 32 bytes of an Ed25519 key. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

function refuse(field: string, why: string): never {
  throw new AmendsError("BAD_SECRET", `${field} ${why}.`, { field });
}
