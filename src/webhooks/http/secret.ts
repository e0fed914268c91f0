/** The sender's secrets: makes them, and reads them into keys of Node.js. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  type KeyObject,
} from "node:crypto";
import { HALF_BYTES, readSecretText, refuseSecret } from "../../core/delivery/secret-text.ts";

const GENERATED_BYTES = 32;

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

/** An Ed25519 key pair for signing webhooks. */
export interface WebhookKeyPair {
  /** The private key, `whsk_…`. It stays with the sender. */
  readonly privateKey: string;
  /** The public key, `whpk_…`. Receivers verify with it. */
  readonly publicKey: string;
}

/** Generates a shared secret, `whsec_…`. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(GENERATED_BYTES).toString("base64")}`;
}

/** Generates an Ed25519 key pair, for receivers that must not be able to sign. */
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

/** Reads any of the three forms. `field` names the option that held it. */
export function readSecret(text: unknown, field: string): AnySecret {
  const { kind, bytes } = readSecretText(text, field);
  if (kind === "shared") return { kind, key: bytes };
  return kind === "private" ? readPrivate(bytes, field) : readPublic(bytes);
}

function readPrivate(bytes: Uint8Array, field: string): PrivateSecret {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, bytes.subarray(0, HALF_BYTES)]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  const given = bytes.subarray(HALF_BYTES);
  if (given.length > 0 && !Buffer.from(x, "base64url").equals(given)) {
    return refuseSecret(field, "holds two halves that do not belong together");
  }
  return { kind: "private", key };
}

function readPublic(bytes: Uint8Array): PublicSecret {
  return {
    kind: "public",
    key: createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: "der", type: "spki" }),
  };
}

/** What DER puts in front of the 32 bytes of an Ed25519 key. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
