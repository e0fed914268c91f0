/**
 * The optional hash chain: each event's hash covers the event and the hash before it, under a key that only the
 * application has. Who changes, removes or inserts an event without the key breaks the chain at that place.
 */
import { createHmac } from "node:crypto";
import { AmendsError } from "../core/errors.ts";

/** How the events of a trail are chained. */
export interface ChainOptions {
  /** At least 32 bytes that are kept outside the database. */
  readonly key: string | Uint8Array;
}

/** The newest link: kept elsewhere, it shows that nothing was cut off since. */
export interface ChainHead {
  /** The number of the last event. */
  readonly link: number;
  /** The hash of the last event, in hexadecimal. */
  readonly hash: string;
}

export interface LinkedEvent {
  readonly link: number;
  readonly id: string;
  readonly type: string;
  readonly subjectId: string;
  readonly atMs: number;
  /** As it is stored, byte by byte. */
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
