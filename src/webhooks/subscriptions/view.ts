/** A subscription as people see it. */
import type { Filter } from "../../core/delivery/filter.ts";
import type { SubscriptionStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";
import { SUBSCRIPTION_ROW } from "./queries.ts";

/** A subscription as people see it: its secrets are not shown again. */
export interface Subscription {
  /** The number that Amends gave it. */
  readonly id: string;
  /** The id that its subscriber chose, if any. Every method takes either. */
  readonly key: string | undefined;
  readonly url: string;
  readonly description: string | undefined;
  readonly status: SubscriptionStatus;
  /** Why it is paused or disabled. */
  readonly reason: string | undefined;
  readonly events: readonly string[];
  readonly filter: Filter;
  /** Its own limit; undefined if the general one holds. */
  readonly attempts: number | undefined;
  readonly concurrency: number;
  /** The least time between two deliveries; 0 without a rate. */
  readonly intervalMs: number;
  readonly ordered: boolean;
  readonly timeoutMs: number | undefined;
  /** How many secrets sign now. */
  readonly liveSecrets: number;
  /** Since when nothing has arrived; undefined if the last attempt did. */
  readonly failingSince: Date | undefined;
  readonly failures: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export function toSubscription(row: Row): Subscription {
  const { attemptMax, secretEnds, failingSince, createdAt, updatedAt, nowMs, ...same } =
    SUBSCRIPTION_ROW.read(row);
  return {
    ...same,
    attempts: attemptMax,
    liveSecrets: secretEnds.filter((end) => end === null || end > nowMs).length,
    failingSince: failingSince === undefined ? undefined : new Date(failingSince),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  };
}
