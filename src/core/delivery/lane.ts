/**
 * A lane holds all deliveries of one subscription. Each lane has a few slots, so that a slow or dead endpoint
 * occupies only those, however large its backlog is. A lane whose last job failed gets a single slot until the
 * endpoint answers again.
 */
import type { SubscriptionStatus } from "./machine.ts";

export interface Lane {
  readonly subscriptionId: string;
  readonly status: SubscriptionStatus;
  readonly concurrency: number;
  readonly ordered: boolean;
  readonly failing: boolean;
  /** The subscription is about to be disabled: the lane gets no more jobs. */
  readonly disabling: boolean;
  /** Jobs that are active now. */
  readonly active: number;
  /** The least interval between two jobs; 0 without a rate limit. */
  readonly intervalMs: number;
  /** The delay until the rate limit allows the next job. */
  readonly nextDueMs: number;
  /** The database's time of this reading. */
  readonly nowMs: number;
  readonly attemptMax: number;
}

/** The number of jobs of a disabled or deleted subscription that are ended at once. */
export const CLOSING_MAX = 64;

/**
 * Polling is always a little late. The rate limit catches up on lateness of up to this much; after a longer gap it
 * starts over, so that a pause is never followed by a burst.
 */
const LATENESS_MAX_MS = 50;

/** The number of jobs that a lane may get now. */
export function roomOf(lane: Lane): number {
  const { status, concurrency, ordered, failing, disabling, active } = lane;
  switch (status) {
    case "Paused":
      return 0;
    case "Deleted":
    case "Disabled":
      return Math.max(0, CLOSING_MAX - active);
    default:
      if (disabling) return 0;
      return Math.max(0, Math.min((ordered || failing ? 1 : concurrency) - active, dueByRate(lane)));
  }
}

/** The number of jobs that the rate limit allows now. No job is created ahead of its time. */
function dueByRate(lane: Lane): number {
  if (!isPaced(lane)) return Infinity;
  return lane.nextDueMs > 0 ? 0 : Math.floor(lateness(lane) / lane.intervalMs) + 1;
}

/** The delay until the lane may get its next job, if it gets this many now; undefined without a rate limit. */
export function nextDueAfter(lane: Lane, jobs: number): number | undefined {
  if (!isPaced(lane)) return undefined;
  return jobs === 0 ? lane.nextDueMs : jobs * lane.intervalMs - lateness(lane);
}

function isPaced({ status, intervalMs }: Lane): boolean {
  return intervalMs > 0 && status === "Active";
}

function lateness({ intervalMs, nextDueMs }: Lane): number {
  return intervalMs < LATENESS_MAX_MS && -nextDueMs <= LATENESS_MAX_MS ? -nextDueMs : 0;
}
