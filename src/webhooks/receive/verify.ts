/**
 * The receiver's side: checks that the sender signed this request and that it is recent. Every failure is one typed
 * error with a reason, so that a receiver can answer 400 and log the reason.
 */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import {
  ID_HEADER,
  isWebhookId,
  readSignatures,
  readTimestamp,
  SIGNATURE_HEADER,
  TIMESTAMP_HEADER,
} from "../../core/delivery/signature-text.ts";
import { isSignedBy, readVerifyingKey, type VerifyingKey } from "./verifying-key.ts";

/** The request headers: a `Headers` object, the headers of node:http, or a plain object. */
export type ReceivedHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

/** Why a webhook was refused. */
export type RefusedReason =
  /** A header is missing, comes twice or is malformed. */
  | "bad_headers"
  /** The webhook was sent longer ago than the tolerance, as in a replay attack. */
  | "too_old"
  /** The timestamp is in the future by more than the tolerance: one of the two clocks is wrong. */
  | "too_new"
  /** No signature has a version that the given secrets can verify. */
  | "unknown_version"
  /** The webhook was not signed with any of the secrets, or was changed on the way. */
  | "bad_signature";

export interface VerifyOptions {
  /** The accepted difference between the clocks, including the time on the network: 5 minutes. */
  readonly tolerance?: Duration;
  readonly now: Date;
}

/** A webhook that is genuine and recent. */
export interface VerifiedWebhook {
  /** The id of the webhook, the same over all attempts of one delivery. Use it to detect repetitions. */
  readonly id: string;
  /** When this attempt was sent. */
  readonly sentAt: Date;
}

/** Thrown when a webhook is refused, with the code `WEBHOOK_REFUSED`. Answer the request with status 400. */
export class WebhookVerificationError extends AmendsError {
  /** Why the webhook was refused. */
  readonly reason: RefusedReason;

  constructor(reason: RefusedReason, message: string) {
    super("WEBHOOK_REFUSED", message, { reason });
    this.name = "WebhookVerificationError";
    this.reason = reason;
  }
}

const TOLERANCE_MS = 300_000;

/** Resolves if the request is genuine and fresh, and rejects with the reason if it is not. */
export async function verify(
  headers: ReceivedHeaders,
  rawBody: Uint8Array | string,
  secrets: string | readonly string[],
  options: VerifyOptions,
): Promise<VerifiedWebhook> {
  const keys = await readKeys(secrets);
  if (typeof rawBody !== "string" && !(rawBody instanceof Uint8Array)) {
    throw new AmendsError(
      "BAD_INPUT",
      "The body must be the raw bytes or text of the request, before anything has parsed it.",
    );
  }
  const id = header(headers, ID_HEADER);
  if (!isWebhookId(id)) throw refused("bad_headers", `${ID_HEADER} is not a webhook's id`);
  const timestamp = readTimestamp(header(headers, TIMESTAMP_HEADER));
  if (timestamp === undefined) throw refused("bad_headers", `${TIMESTAMP_HEADER} is not a number of seconds`);
  const signatures = readSignatures(header(headers, SIGNATURE_HEADER));
  checkAge(timestamp * 1_000, options);
  const known = new Set(keys.map(({ version }) => version));
  const usable = signatures.filter(({ version }) => known.has(version));
  if (usable.length === 0) {
    throw refused(
      "unknown_version",
      `${SIGNATURE_HEADER} holds no signature that the secrets given could verify`,
    );
  }
  const message = { id, timestamp, body: rawBody };
  for (const signature of usable) {
    for (const key of keys) {
      if (await isSignedBy(message, signature, key)) return { id, sentAt: new Date(timestamp * 1_000) };
    }
  }
  throw refused("bad_signature", "no signature fits the body and the secrets");
}

function readKeys(secrets: string | readonly string[]): Promise<readonly VerifyingKey[]> {
  const all = typeof secrets === "string" ? [secrets] : secrets;
  if (!Array.isArray(all) || all.length === 0) {
    throw new AmendsError("BAD_SECRET", "A secret is needed to verify a webhook with.");
  }
  return Promise.all(all.map((text) => readVerifyingKey(text, "The webhook's secret")));
}

function header(headers: ReceivedHeaders, name: string): string {
  const value = typeof headers.get === "function" ? headers.get(name) : own(headers, name);
  if (typeof value === "string" && value !== "") return value;
  throw refused("bad_headers", `the header ${name} is missing or came more than once`);
}

/** Header names have no case. */
function own(headers: object, name: string): unknown {
  const found = Object.entries(headers).filter(([key]) => key.toLowerCase() === name);
  return found.length === 1 ? (found[0]?.[1] as unknown) : undefined;
}

function checkAge(sentMs: number, { tolerance = TOLERANCE_MS, now }: VerifyOptions): void {
  const toleranceMs = positiveMs(tolerance, "tolerance");
  const nowMs = now.getTime();
  // Written so that a clock that returns NaN refuses every request instead of accepting it.
  if (!(nowMs - sentMs <= toleranceMs)) throw refused("too_old", "it was sent too long ago");
  if (!(sentMs - nowMs <= toleranceMs)) throw refused("too_new", "it seems to come from the future");
}

function refused(reason: RefusedReason, why: string): WebhookVerificationError {
  return new WebhookVerificationError(reason, `The webhook is refused: ${why}.`);
}
