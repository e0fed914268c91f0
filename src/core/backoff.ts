/**
 * The one schedule: the delay after the n-th attempt is min(base · factor^(n−1), cap), the same for the same row,
 * always. Where many rows would wake together, `spread` moves each by an amount that can be computed again.
 */
import { AmendsError } from "./errors.ts";

export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
  readonly factor: number;
}

export const DEFAULT_BACKOFF: Backoff = { baseMs: 30_000, capMs: 3_600_000, factor: 2 };

/** How long a claim protects its row unless a part says otherwise. */
export const DEFAULT_LEASE_MS = 300_000;

export function checkBackoff(policy: Backoff, field: string): Backoff {
  const { baseMs, capMs, factor } = policy;
  if (!(baseMs > 0)) throw new AmendsError("BAD_POLICY", `${field}: base must be longer than zero.`);
  if (!(capMs >= baseMs)) throw new AmendsError("BAD_POLICY", `${field}: cap must not be shorter than base.`);
  if (!(factor >= 1)) throw new AmendsError("BAD_POLICY", `${field}: factor must be 1 or more.`);
  return policy;
}

export function checkLease(leaseMs: number, field: string): number {
  if (!(leaseMs > 0)) throw new AmendsError("BAD_POLICY", `${field} must be longer than zero.`);
  return leaseMs;
}

export function delayMs(policy: Backoff, attempt: number): number {
  if (!Number.isInteger(attempt) || attempt < 1) {
    throw new AmendsError("BAD_POLICY", `The schedule begins with attempt 1, not ${String(attempt)}.`);
  }
  // Beyond 2^1000 the power is Infinity, which min() turns into the cap.
  return Math.min(policy.baseMs * policy.factor ** (attempt - 1), policy.capMs);
}

/** A delay moved by up to ±ratio/2, derived from the row and the attempt alone. */
export function spread(delay: number, id: string, attempt: number, ratio: number): number {
  return Math.round(delay * (1 + ratio * (hash01(`${id}#${attempt}`) - 0.5)));
}

/** FNV-1a with a final mix, as a number in [0, 1). */
function hash01(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
