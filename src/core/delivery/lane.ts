/**
 * A lane is all that is owed to one subscription. Each lane has a few places, so that an endpoint that is slow or dead
 * keeps only those, however much is owed to it: the others go on. One that failed last gets a single place, until it
 * answers again.
 */
import type { SubscriptionStatus } from "./machine.ts";

export interface Lane {
  readonly subscriptionId: string;
  readonly status: SubscriptionStatus;
  readonly concurrency: number;
  readonly ordered: boolean;
  readonly failing: boolean;
  /** Jobs that are active now. */
  readonly active: number;
  /** At least so long lies between two jobs; 0 where there is no rate. */
  readonly intervalMs: number;
  /** How long from now the next job may be due, by what the rate has promised so far. */
  readonly nextDueMs: number;
  readonly attemptMax: number;
}

/** So many jobs of a subscription that takes nothing any more are ended at once. */
export const CLOSING_MAX = 64;

/** How many jobs a lane may get now. */
export function roomOf({ status, concurrency, ordered, failing, active }: Lane): number {
  switch (status) {
    case "Paused":
      return 0;
    case "Deleted":
    case "Disabled":
      return Math.max(0, CLOSING_MAX - active);
    default:
      return Math.max(0, (ordered || failing ? 1 : concurrency) - active);
  }
}

/** In how long each of so many new jobs is due, and when the next one after them may be. */
export function paced(
  lane: Lane,
  jobs: number,
): { readonly waits: readonly number[]; readonly nextDueMs: number } {
  if (lane.intervalMs === 0 || lane.status !== "Active")
    return { waits: Array<number>(jobs).fill(0), nextDueMs: 0 };
  const first = Math.max(0, lane.nextDueMs);
  const waits = Array.from({ length: jobs }, (_, index) => first + index * lane.intervalMs);
  return { waits, nextDueMs: first + jobs * lane.intervalMs };
}
