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
  /** Where deliveries go. */
  readonly url: string;
  /** What it is for; undefined without a description. */
  readonly description: string | undefined;
  /** The state of the subscription. */
  readonly status: SubscriptionStatus;
  /** Why it is paused or disabled. */
  readonly reason: string | undefined;
  /** The types of events that it wants, as patterns. */
  readonly events: readonly string[];
  /** The attributes that an event must have. */
  readonly filter: Filter;
  /** Its own limit; undefined if the general one holds. */
  readonly attempts: number | undefined;
  /** The number of deliveries that may be under way at once. */
  readonly concurrency: number;
  /** The least time between two deliveries; 0 without a rate. */
  readonly intervalMs: number;
  /** Whether deliveries go out one after the other, in the order of their events. */
  readonly ordered: boolean;
  /** The time limit of one attempt; undefined if the general one holds. */
  readonly timeoutMs: number | undefined;
  /** How many secrets sign now. */
  readonly liveSecrets: number;
  /** Since when nothing has arrived; undefined if the last attempt did. */
  readonly failingSince: Date | undefined;
  /** The number of failures in a row. */
  readonly failures: number;
  /** When it was made, by the database's clock. */
  readonly createdAt: Date;
  /** When it last changed, by the database's clock. */
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
