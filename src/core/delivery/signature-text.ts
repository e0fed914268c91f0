/**
 * The texts of Standard Webhooks: the signed content and the signature header. The id must not contain a dot,
 * otherwise two different messages could have the same signed content.
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

/** Seconds since the epoch, or undefined if the text is not a timestamp. */
export function readTimestamp(text: string): number | undefined {
  return TIMESTAMP.test(text) ? Number(text) : undefined;
}

/** The prefix of the body in the signed content. */
export function signedPrefix(id: string, timestamp: number): string {
  return `${id}.${timestamp}.`;
}

export function writeSignatures(signatures: readonly Signature[]): string {
  return signatures.map(({ version, value }) => `${version},${value}`).join(" ");
}

/**
 * The signatures of known versions. Unknown versions are ignored, because a sender may add new ones beside the old.
 * A header with too many signatures counts as no signature.
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
