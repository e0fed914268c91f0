/**
 * Signing secrets as Standard Webhooks writes them: `whsec_` and base64 for a secret that both sides share, `whsk_`
 * and `whpk_` for the two halves of an Ed25519 key. No error repeats the secret.
 */
import { AmendsError } from "../errors.ts";

export const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 256;
/** Of the private and of the public half of an Ed25519 key. */
export const HALF_BYTES = 32;

export interface SecretText {
  readonly kind: "shared" | "private" | "public";
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const KINDS = { whsec: "shared", whsk: "private", whpk: "public" } as const;

/** Reads any of the three forms. `field` names the option that held it. */
export function readSecretText(text: unknown, field: string): SecretText {
  const [, prefix, encoded = ""] = (typeof text === "string" && /^(whsec|whsk|whpk)_(.*)$/s.exec(text)) || [];
  if (prefix === undefined) {
    return refuseSecret(field, "must be a text that begins with whsec_, whsk_ or whpk_");
  }
  const bytes = fromBase64(encoded.replace(/=+$/, ""));
  // A secret with a typing error must not decode to a shorter secret.
  if (!bytes) return refuseSecret(field, `must be plain base64 after ${prefix}_`);
  const kind = KINDS[prefix as keyof typeof KINDS];
  checkLength(kind, bytes.length, field);
  return { kind, bytes };
}

function checkLength(kind: SecretText["kind"], length: number, field: string): void {
  if (kind === "shared" && (length < SECRET_BYTES_MIN || length > SECRET_BYTES_MAX)) {
    refuseSecret(
      field,
      `must hold ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes (this one holds ${length})`,
    );
  }
  if (kind === "private" && length !== HALF_BYTES && length !== 2 * HALF_BYTES) {
    refuseSecret(field, "must hold an Ed25519 private key: 32 bytes, or 64 with its public half");
  }
  if (kind === "public" && length !== HALF_BYTES) {
    refuseSecret(field, "must hold an Ed25519 public key of 32 bytes");
  }
}

export function refuseSecret(field: string, why: string): never {
  throw new AmendsError("BAD_SECRET", `${field} ${why}.`, { field });
}

/** The bytes of a base64 text; undefined if the text is not the canonical encoding. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  if (btoa(binary).replace(/=+$/, "") !== text.replace(/=+$/, "")) return undefined;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
