/**
 * Keys and signatures on Web Crypto, which browsers, edge runtimes, Deno, Bun and Node.js share. Both checks take the
 * same time wherever a signature differs.
 */
import { AmendsError } from "../../core/errors.ts";
import { fromBase64, readSecretText } from "../../core/delivery/secret-text.ts";
import { signedPrefix, type Signature, type SignatureVersion } from "../../core/delivery/signature-text.ts";

type WebKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

export interface VerifyingKey {
  /** The signatures that it can verify. */
  readonly version: SignatureVersion;
  readonly algorithm: "HMAC" | "Ed25519";
  readonly key: WebKey;
}

/** What is signed. */
export interface ReceivedMessage {
  readonly id: string;
  readonly timestamp: number;
  readonly body: Uint8Array | string;
}

/** `whsec_…` or `whpk_…`. `field` names the option that held it. */
export async function readVerifyingKey(text: unknown, field: string): Promise<VerifyingKey> {
  const { kind, bytes } = readSecretText(text, field);
  if (kind === "private") {
    throw new AmendsError("BAD_SECRET", "A private key (whsk_) stays with the sender. Verify with whpk_.");
  }
  const { subtle } = crypto;
  if (kind === "public") {
    const key = await subtle.importKey("raw", bytes, { name: "Ed25519" }, false, ["verify"]);
    return { version: "v1a", algorithm: "Ed25519", key };
  }
  const key = await subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  return { version: "v1", algorithm: "HMAC", key };
}

/** Whether this is a whole and right signature of the message. */
export async function isSignedBy(
  message: ReceivedMessage,
  signature: Signature,
  { version, algorithm, key }: VerifyingKey,
): Promise<boolean> {
  if (signature.version !== version) return false;
  // Base64 has several spellings of the same bytes. Senders write one of them, with its padding.
  const given = signature.value.length % 4 === 0 ? fromBase64(signature.value) : undefined;
  return given !== undefined && crypto.subtle.verify(algorithm, key, given, signedBytes(message));
}

function signedBytes({ id, timestamp, body }: ReceivedMessage): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const prefix = encoder.encode(signedPrefix(id, timestamp));
  const rest = typeof body === "string" ? encoder.encode(body) : body;
  const bytes = new Uint8Array(prefix.length + rest.length);
  bytes.set(prefix);
  bytes.set(rest, prefix.length);
  return bytes;
}
