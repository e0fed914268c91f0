/** The statements on lanes: the lock for creating jobs, the lanes with free slots, and their rates and health. */
import { DISABLE_REASONS, isGone, type DisableReason, type Report } from "../../core/delivery/job.ts";
import type { Lane } from "../../core/delivery/lane.ts";
import { subscriptionMachine, type SubscriptionStatus } from "../../core/delivery/machine.ts";
import { bigint, flag, float, id, int, optional, text, uuid } from "../../storage/column.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { joinCounting, nextLaneAfter } from "./delivery-queries.ts";
import { activeIn } from "./job-queries.ts";

const lanes = (dialect: Dialect): Sql => dialect.table("webhook_lanes");

/** The lock that keeps two processes from exceeding the slots of a lane. A process that does not get it tries again. */
export function takeTurn(dialect: Dialect): Sql {
  return sql`select t.id from ${dialect.table("webhook_turn")} as t where t.id = 1 ${dialect.forUpdateOf("t", "skip locked")}`;
}

/**
 * Walks from lane to lane, in the order of their subscriptions, by skipping over the deliveries of each lane: a long
 * lane costs no more than a short one. The last row has no lane if the walk reached the end.
 */
export function surveyLanes(dialect: Dialect, after: string, laneMax: number): Sql {
  return sql`with recursive lane(id, place) as (
      select ${nextLaneAfter(dialect, sql`cast(${after} as bigint)`)}, 1
      union all
      select ${nextLaneAfter(dialect, sql`lane.id`)}, lane.place + 1 from lane where lane.id is not null and lane.place < ${laneMax}
    )
    select lane.id, p.status, p.concurrency, p.interval_ms, p.attempt_max, p.ordered,
      n.failing_since is not null as failing, n.disable_reason is not null as disabling,
      ${dialect.epochMs(raw("n.next_due_at"))} as next_due_at, ${dialect.epochMs(dialect.now())} as now_at,
      ${activeIn(dialect, raw("lane.id"))} as active
    from lane left join ${dialect.table("webhook_subscriptions")} as p on p.id = lane.id
    left join ${lanes(dialect)} as n on n.subscription_id = lane.id
    order by lane.place`;
}

const SURVEYED = projection({
  id: optional(id("id")),
  status: optional(text<SubscriptionStatus>("status")),
  concurrency: optional(int("concurrency")),
  intervalMs: optional(int("interval_ms")),
  attemptMax: optional(int("attempt_max")),
  ordered: optional(flag("ordered")),
  failing: flag("failing"),
  disabling: flag("disabling"),
  nextDueMs: optional(float("next_due_at")),
  nowMs: float("now_at"),
  active: int("active"),
});

/** The status of a subscription whose row was deleted by hand. */
const [REMOVED] = subscriptionMachine.terminal as [SubscriptionStatus];

/** Undefined for the row that says that there are no further lanes. */
export function toLane(row: Row, attemptMax: number): Lane | undefined {
  const found = SURVEYED.read(row);
  if (found.id === undefined) return undefined;
  const { id: subscriptionId, nextDueMs, nowMs, failing, disabling, active } = found;
  return {
    subscriptionId,
    status: found.status ?? REMOVED,
    concurrency: found.concurrency ?? 1,
    ordered: found.ordered ?? false,
    failing,
    disabling,
    active,
    intervalMs: found.intervalMs ?? 0,
    nextDueMs: nextDueMs === undefined ? 0 : nextDueMs - nowMs,
    nowMs,
    attemptMax: found.attemptMax ?? attemptMax,
  };
}

/** When the rate of a lane lets its next job go. */
export interface Pace {
  readonly subscriptionId: string;
  readonly dueMs: number;
}

const PACE = fields<Pace>({
  id: bigint((pace) => pace.subscriptionId),
  due_ms: bigint((pace) => pace.dueMs),
});

export function paceLanes(dialect: Dialect, paces: readonly Pace[]): Sql {
  return sql`insert into ${lanes(dialect)} as n (subscription_id, next_due_at)
    select r.id, ${dialect.instantOf(raw("r.due_ms"))} from ${dialect.rows(PACE, paces)} where true
    on conflict (subscription_id) do update set next_due_at = excluded.next_due_at`;
}

const REPORT = fields<Report>({
  job_id: bigint(({ job }) => job.id),
  report: uuid(({ report }) => report),
});

const FAILURE = fields<Report>({ ...REPORT.shape, gone: flag(isGone, { default: 0 }) });

/** A subscription whose every attempt has failed for this long, and at least this often, is disabled. */
export interface LastingFailure {
  readonly afterMs: number;
  readonly failures: number;
}

const reason = (name: DisableReason): Sql => literals(DISABLE_REASONS.filter((known) => known === name));

/**
 * Counts the failures that will count, and finds out whether their subscriptions are to be disabled: the receiver is
 * gone, or has only failed for too long. Disabling is the administrator's: this is only noted here.
 */
export function noteFailures(dialect: Dialect, failed: readonly Report[], lasting: LastingFailure): Sql {
  const since = sql`coalesce(n.failing_since, excluded.failing_since)`;
  return sql`insert into ${lanes(dialect)} as n (subscription_id, failing_since, failures, disable_reason)
    select j.of_lane, ${dialect.now()}, count(*), case when max(r.gone) = 1 then ${reason("gone")} end
    from ${dialect.rows(FAILURE, failed)} ${joinCounting(dialect)} where true group by j.of_lane
    on conflict (subscription_id) do update set failures = n.failures + excluded.failures, failing_since = ${since},
      disable_reason = coalesce(n.disable_reason, excluded.disable_reason, case
        when n.failures + excluded.failures >= ${lasting.failures}
          and ${dialect.plusMs(since, lasting.afterMs)} <= ${dialect.now()} then ${reason("failing")} end)
    returning disable_reason`;
}

export const NOTED: Projection<{ readonly disableReason: DisableReason | undefined }> = projection({
  disableReason: optional(text<DisableReason>("disable_reason")),
});

/** Writes only if something had failed before. A receiver that said that it is gone stays gone. */
export function noteSuccesses(dialect: Dialect, succeeded: readonly Report[]): Sql {
  return sql`update ${lanes(dialect)} set failing_since = null, failures = 0,
      disable_reason = case when disable_reason = ${reason("gone")} then disable_reason end
    where failing_since is not null and subscription_id in (
      select j.of_lane from ${dialect.rows(REPORT, succeeded)} ${joinCounting(dialect)})`;
}

/** Resets the failures of a subscription. */
export function forgetFailures(dialect: Dialect, subscriptionId: string): Sql {
  return sql`update ${lanes(dialect)} set failing_since = null, failures = 0, disable_reason = null
    where subscription_id = ${subscriptionId}`;
}

/** A condition: there is a subscription to be disabled. */
export function anyToDisable(dialect: Dialect): Sql {
  return sql`exists (select 1 from ${lanes(dialect)} as n where n.disable_reason is not null)`;
}

/** 0 if there is a subscription to be disabled, else null. */
export function untilToDisable(dialect: Dialect): Sql {
  return sql`(select case when ${anyToDisable(dialect)} then 0 end)`;
}

/** A subscription that is to be disabled. */
export interface ToDisable {
  readonly subscriptionId: string;
  readonly reason: DisableReason;
}

export const TO_DISABLE: Projection<ToDisable> = projection({
  subscriptionId: id("subscription_id"),
  reason: text<DisableReason>("disable_reason"),
});

/** The subscriptions that are to be disabled, and why, locked. */
export function selectToDisable(dialect: Dialect, limit: number): Sql {
  return sql`select n.subscription_id, n.disable_reason from ${lanes(dialect)} as n
    where n.disable_reason is not null order by n.subscription_id limit ${limit} ${dialect.forUpdateOf("n", "skip locked")}`;
}

/** Marks them as disabled. */
export function clearToDisable(dialect: Dialect, subscriptionIds: readonly string[]): Sql {
  return sql`update ${lanes(dialect)} set disable_reason = null
    where ${dialect.among(raw("subscription_id"), subscriptionIds, "bigint")}`;
}
