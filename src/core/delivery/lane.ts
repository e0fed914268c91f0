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
  /** Its subscription is about to be disabled: until it is, nothing more goes there. */
  readonly disabling: boolean;
  /** Jobs that are active now. */
  readonly active: number;
  /** At least so long lies between two jobs; 0 where there is no rate. */
  readonly intervalMs: number;
  /** How long from now the next job may be due, by what the rate has promised so far. */
  readonly nextDueMs: number;
  /** What "now" was, by the database. */
  readonly nowMs: number;
  readonly attemptMax: number;
}

/** So many jobs of a subscription that takes nothing any more are ended at once. */
export const CLOSING_MAX = 64;

/**
 * Polling is always a little late. Up to this much lateness is made up for where jobs follow one another closer than it;
 * after a longer gap the rate starts over, so that what was missed in a pause is never sent at once.
 */
const LATENESS_MAX_MS = 50;

/** How many jobs a lane may get now. */
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

/** How many jobs the rate lets go at this moment. None is made before its time: it would be overdue after a pause. */
function dueByRate(lane: Lane): number {
  if (!isPaced(lane)) return Infinity;
  return lane.nextDueMs > 0 ? 0 : Math.floor(lateness(lane) / lane.intervalMs) + 1;
}

/** In how long the lane may have its next job, if it gets so many now; undefined where no rate says so. */
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
