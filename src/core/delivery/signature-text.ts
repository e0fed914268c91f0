/**
 * The texts of Standard Webhooks: what is signed, and how signatures travel. The id must not hold a dot, else two
 * different messages could have the same signed text.
 */

export const ID_HEADER = "webhook-id";
export const TIMESTAMP_HEADER = "webhook-timestamp";
export const SIGNATURE_HEADER = "webhook-signature";

export type SignatureVersion = "v1" | "v1a";

export interface Signature {
  readonly version: SignatureVersion;
  /** Base64. */
  readonly value: string;
}

/** Printable ASCII without a dot, short enough for any header and any column. */
const ID = /^[!-\-/-~]{1,255}$/;
const TIMESTAMP = /^\d{1,12}$/;
const HEADER_MAX = 4_096;
const SIGNATURE_MAX = 16;

export function isWebhookId(id: unknown): id is string {
  return typeof id === "string" && ID.test(id);
}

/** Seconds since the epoch, or undefined where the text is nothing of the kind. */
export function readTimestamp(text: string): number | undefined {
  return TIMESTAMP.test(text) ? Number(text) : undefined;
}

/** What stands before the body in the signed text. */
export function signedPrefix(id: string, timestamp: number): string {
  return `${id}.${timestamp}.`;
}

export function writeSignatures(signatures: readonly Signature[]): string {
  return signatures.map(({ version, value }) => `${version},${value}`).join(" ");
}

/**
 * The signatures of versions that are known here. Others are left out, as a sender may add new versions beside the
 * old ones. A header with more than a receiver could want to try is taken for no signature at all.
 */
export function readSignatures(header: string): readonly Signature[] {
  if (header.length > HEADER_MAX) return [];
  const parts = header.split(" ");
  if (parts.length > SIGNATURE_MAX) return [];
  return parts.flatMap((part) => {
    const comma = part.indexOf(",");
    const version = part.slice(0, Math.max(comma, 0));
    return version === "v1" || version === "v1a" ? [{ version, value: part.slice(comma + 1) }] : [];
  });
}
