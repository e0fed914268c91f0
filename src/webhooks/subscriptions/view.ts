/** A subscription as people see it. */
import type { Filter } from "../../core/delivery/filter.ts";
import type { SubscriptionStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";
import { SUBSCRIPTION_ROW } from "./queries.ts";

/** A subscription without its secrets. */
export interface Subscription {
  /** The id that Amends assigned. */
  readonly id: string;
  /** The id that you chose; undefined if none was given. Every method accepts either id. */
  readonly key: string | undefined;
  /** The URL of the receiver. */
  readonly url: string;
  /** The description for operators; undefined if none was given. */
  readonly description: string | undefined;
  /** The status of the subscription. */
  readonly status: SubscriptionStatus;
  /** Why it is paused or disabled; undefined if it is not. */
  readonly reason: string | undefined;
  /** The event types that it wants. */
  readonly events: readonly string[];
  /** The accepted values, by attribute. */
  readonly filter: Filter;
  /** Its own number of attempts; undefined if the default applies. */
  readonly attempts: number | undefined;
  /** The number of deliveries under way at once. */
  readonly concurrency: number;
  /** The least time between two deliveries in milliseconds; 0 without a rate limit. */
  readonly intervalMs: number;
  /** True if events are delivered one at a time, in the order of publication. */
  readonly ordered: boolean;
  /** Its own time limit of one attempt in milliseconds; undefined if the default applies. */
  readonly timeoutMs: number | undefined;
  /** The number of secrets that sign now. */
  readonly liveSecrets: number;
  /** Since when every attempt has failed; undefined if the last attempt succeeded. */
  readonly failingSince: Date | undefined;
  /** The number of failed attempts since then. */
  readonly failures: number;
  /** When it was created, by the database's clock. */
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
