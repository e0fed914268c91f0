/** The idempotency key of one call. */
import { createHash } from "node:crypto";
import { idempotencyKey, type Direction } from "../../core/identity.ts";

/** Payment APIs take keys of at most this many characters. */
const KEY_MAX = 255;

/**
 * `part` is the name of the step; of a step that acts several times, with the item's key or the round in brackets. Where all of that
 * is too long, a digest of it takes the place of everything but the step's name.
 */
export function callKey(sagaId: string, step: string, part: string, direction: Direction): string {
  const key = idempotencyKey(sagaId, part, direction);
  if (key.length <= KEY_MAX) return key;
  const digest = createHash("sha256").update(`${sagaId}\0${part}`).digest("hex");
  return idempotencyKey(digest, step, direction);
}
