/** Which limits by key hold work back: those of which every place is taken. */
import type { Limits } from "./limits.ts";

/** A limit by key that holds a saga back: every place of its key is taken. */
export interface HeldBy {
  /** How many run at the same time (`concurrency`), or how many begin within a period (`rate`). */
  readonly kind: "concurrency" | "rate";
  /** The key, as it was computed from the input at the start. */
  readonly key: string;
  /** The limit that the saga was started with. */
  readonly limit: number;
  /** How many of the key run now, or have begun within the period. */
  readonly used: number;
  /** When the first place of a rate returns; undefined for a concurrency. */
  readonly until: Date | undefined;
}

/** What is taken of the keys of some limits. */
export interface LimitUsage {
  readonly running: number;
  readonly begun: number;
  /** When the first of those that have begun leaves its period. */
  readonly freeAtMs: number | undefined;
}

export function heldBy({ concurrency, rate }: Limits, usage: LimitUsage): readonly HeldBy[] {
  const { running, begun, freeAtMs } = usage;
  const until = freeAtMs === undefined ? undefined : new Date(freeAtMs);
  const held: HeldBy[] = [];
  if (concurrency && running >= concurrency.limit)
    held.push({ kind: "concurrency", ...concurrency, used: running, until: undefined });
  if (rate && begun >= rate.limit)
    held.push({ kind: "rate", key: rate.key, limit: rate.limit, used: begun, until });
  return held;
}
