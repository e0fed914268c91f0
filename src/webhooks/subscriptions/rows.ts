/** The only place that sees what the drivers return for subscriptions. */
import type { Filter } from "../../core/delivery/filter.ts";
import type { SubscriptionStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";

/** A subscription as people see it: its secrets are not shown again. */
export interface Subscription {
  readonly id: string;
  readonly url: string;
  readonly description: string | undefined;
  readonly status: SubscriptionStatus;
  /** Why it is paused or disabled. */
  readonly reason: string | undefined;
  readonly events: readonly string[];
  readonly filter: Filter;
  /** The limit of attempts of its own; undefined if `webhooks.retry.attempts` holds. */
  readonly attempts: number | undefined;
  readonly concurrency: number;
  /** At least so long between two deliveries; 0 without a rate. */
  readonly intervalMs: number;
  readonly ordered: boolean;
  readonly timeoutMs: number | undefined;
  /** How many secrets sign now. */
  readonly liveSecrets: number;
  /** Since when nothing has arrived; undefined where the last attempt did. */
  readonly failingSince: Date | undefined;
  readonly failures: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface KeptSecret {
  readonly text: string;
  readonly untilMs?: number;
}

export interface StoredSubscription {
  readonly view: Subscription;
  readonly secrets: readonly KeptSecret[];
  readonly nowMs: number;
}

export function toSubscription(row: Row): StoredSubscription {
  const number = (name: string): number | undefined => (row[name] === null ? undefined : Number(row[name]));
  const text = (name: string): string | undefined => (row[name] as string | null) ?? undefined;
  const nowMs = Number(row["now_at"]);
  const secrets = JSON.parse(row["secrets"] as string) as KeptSecret[];
  const failingSince = number("failing_since");
  const view: Subscription = {
    id: String(row["id"]),
    url: row["url"] as string,
    description: text("description"),
    status: row["status"] as SubscriptionStatus,
    reason: text("reason"),
    events: JSON.parse(row["events"] as string) as string[],
    filter: JSON.parse(row["filter"] as string) as Filter,
    attempts: number("attempt_max"),
    concurrency: Number(row["concurrency"]),
    intervalMs: Number(row["interval_ms"]),
    ordered: Number(row["ordered"]) === 1,
    timeoutMs: number("timeout_ms"),
    liveSecrets: secrets.filter(({ untilMs = Infinity }) => untilMs > nowMs).length,
    failingSince: failingSince === undefined ? undefined : new Date(failingSince),
    failures: Number(row["failures"]),
    createdAt: new Date(Number(row["created_at"])),
    updatedAt: new Date(Number(row["updated_at"])),
  };
  return { view, secrets, nowMs };
}
