/**
 * The optional hash chain: each event's hash covers the event and the hash before it, under a key that only the
 * application has. Changing, removing or inserting an event without the key breaks the chain at that place.
 */
import { createHmac } from "node:crypto";
import { AmendsError } from "../core/errors.ts";

/** The key of the audit trail's hash chain. */
export interface ChainOptions {
  /** The HMAC key: at least 32 bytes. Keep it outside the database. A shorter key throws `BAD_OPTION`. */
  readonly key: string | Uint8Array;
}

/**
 * The newest link of the chain. Store it outside the database and pass it to `verifyAuditChain` as `anchor`: the check
 * then also finds a trail that was truncated or replaced.
 */
export interface ChainHead {
  /** The number of the newest link: 0 for an empty chain, -1 if the database has no head row. */
  readonly link: number;
  /** The hash of the newest link in hexadecimal; empty for an empty chain. */
  readonly hash: string;
}

export interface LinkedEvent {
  readonly link: number;
  readonly id: string;
  readonly type: string;
  readonly subjectId: string;
  readonly atMs: number;
  /** The event exactly as it is stored, byte by byte. */
  readonly payload: string;
}

const KEY_MIN = 32;

export function checkKey(key: unknown): string | Uint8Array {
  const isKey = typeof key === "string" || key instanceof Uint8Array;
  if (isKey && Buffer.byteLength(key) >= KEY_MIN) return key;
  throw new AmendsError("BAD_OPTION", `The key of an audit chain must have at least ${KEY_MIN} bytes.`);
}

export function linkHash(key: string | Uint8Array, before: string, event: LinkedEvent): string {
  const { link, id, type, subjectId, atMs, payload } = event;
  const text = JSON.stringify([before, link, id, type, subjectId, atMs, payload]);
  return createHmac("sha256", key).update(text).digest("hex");
}
