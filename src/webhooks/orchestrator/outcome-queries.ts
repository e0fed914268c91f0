/** What results do to deliveries and to what is known of their lanes; and deliveries that are made anew. */
import { deliveryMachine, WAITING } from "../../core/delivery/machine.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";

/** What a report means for the delivery whose job it has ended. */
export interface Outcome {
  readonly jobId: string;
  readonly report: string;
  readonly deliveryId: string;
  readonly attempt: number;
  readonly to: string;
  readonly error: string | null;
  readonly attemptMax: number;
  readonly waitMs: number | null;
}

const MEANING: readonly Column[] = [
  { name: "new_max", type: "int" },
  { name: "to_status", type: "text", default: deliveryMachine.target("InProgress", "succeed") as string },
  { name: "error", type: "text", default: null },
  { name: "wait_ms", type: "int", default: null },
];

const REPORT: readonly Column[] = [
  { name: "job_id", type: "bigint" },
  { name: "report", type: "uuid" },
];

const OUTCOME: readonly Column[] = [...REPORT, ...MEANING];

/** States that a result may leave. */
const LEAVES = ["succeed", "fail", "exhaust"] as const;
const RUNNING = deliveryMachine.states.filter((state) =>
  LEAVES.every((event) => deliveryMachine.target(state, event) !== undefined),
);

/** A report names its job; the job names its delivery and which attempt of it it was. Nothing else fits twice. */
const ofReport = (dialect: Dialect): Sql =>
  sql`join (select id as of_job, report as of_report, saga_id as of_saga, subscription_id as of_lane, attempt as of_attempt
      from ${dialect.table("webhook_jobs")}) as j on j.of_job = r.job_id and j.of_report = r.report`;

/** Books results. A result counts for the attempt that its job was made for, and only while that is the next one. */
export function applyOutcomes(dialect: Dialect, outcomes: readonly Outcome[]): Sql {
  const rows = outcomes.map(({ jobId, report, attemptMax, to, error, waitMs }) => [
    jobId,
    report,
    attemptMax,
    to,
    error,
    waitMs,
  ]);
  const given = sql`${dialect.rows(OUTCOME, rows)} ${ofReport(dialect)}`;
  return applied(dialect, given, raw("j"));
}

const EXPECTED: readonly Column[] = [
  { name: "of_saga", type: "bigint" },
  { name: "of_attempt", type: "int" },
  ...MEANING,
];

/** Without a look at the jobs: the same transaction has ended them, each for this very attempt. */
export function applyOptimistic(dialect: Dialect, outcomes: readonly Outcome[]): Sql {
  const rows = outcomes.map(({ deliveryId, attempt, attemptMax, to, error, waitMs }) => [
    deliveryId,
    attempt,
    attemptMax,
    to,
    error,
    waitMs,
  ]);
  return sql`${applied(dialect, dialect.rows(EXPECTED, rows), raw("r"))} returning 1`;
}

/** `of` is what tells which attempt of which delivery a result is about. */
function applied(dialect: Dialect, given: Sql, of: Sql): Sql {
  return sql`update ${dialect.table("webhook_delivery_sagas")} as c
    set status = r.to_status, attempt_count = c.attempt_count + 1, attempt_max = r.new_max,
      final_error_code = r.error, updated_at = ${dialect.now()},
      next_attempt_at = case when r.wait_ms is null then null
        else ${dialect.plusMs(dialect.now(), raw("r.wait_ms"))} end
    from ${given}
    where ${isNext(of)}`;
}

/** `c` waits for this very result. */
const isNext = (of: Sql): Sql =>
  sql`c.id = ${of}.of_saga and c.attempt_count = ${of}.of_attempt - 1 and c.status || '' in (${literals(RUNNING)})`;

/** Reports that will count. Asked before they are applied: told again, a report finds its delivery further on. */
const counting = (dialect: Dialect, reports: readonly Report[]): Sql =>
  sql`${dialect.rows(REPORT, reports)} ${ofReport(dialect)}
    join ${dialect.table("webhook_delivery_sagas")} as c on ${isNext(raw("j"))}`;

export type Report = readonly [jobId: string, report: string];

export function noteFailures(dialect: Dialect, reports: readonly Report[]): Sql {
  return failing(
    dialect,
    sql`select j.of_lane, ${dialect.now()}, count(*) from ${counting(dialect, reports)} where true group by j.of_lane`,
  );
}

/** Writes only where something had failed before. */
export function noteSuccesses(dialect: Dialect, reports: readonly Report[]): Sql {
  return sql`update ${dialect.table("webhook_lanes")} set failing_since = null, failures = 0
    where failing_since is not null and subscription_id in (select j.of_lane from ${counting(dialect, reports)})`;
}

const FAILING: readonly Column[] = [
  { name: "id", type: "bigint" },
  { name: "failures", type: "int" },
];

/** The same for lanes of which it is known how often they have failed now. */
export function noteFailing(
  dialect: Dialect,
  lanes: readonly (readonly [id: string, failures: number])[],
): Sql {
  const rows = dialect.rows(FAILING, lanes);
  return failing(dialect, sql`select r.id, ${dialect.now()}, r.failures from ${rows} where true`);
}

function failing(dialect: Dialect, lanes: Sql): Sql {
  return sql`insert into ${dialect.table("webhook_lanes")} as n (subscription_id, failing_since, failures) ${lanes}
    on conflict (subscription_id) do update set failures = n.failures + excluded.failures,
      failing_since = coalesce(n.failing_since, excluded.failing_since)`;
}

/** For lanes of which each is known to have had a success. */
export function noteHealthy(dialect: Dialect, lanes: readonly string[]): Sql {
  return sql`update ${dialect.table("webhook_lanes")} set failing_since = null, failures = 0
    where failing_since is not null and ${dialect.among(raw("subscription_id"), lanes, "bigint")}`;
}

export function forgetFailures(dialect: Dialect, subscriptionId: string): Sql {
  return sql`update ${dialect.table("webhook_lanes")} set failing_since = null, failures = 0
    where subscription_id = ${subscriptionId}`;
}

const LANE: readonly Column[] = [{ name: "id", type: "bigint" }];

export const BEHIND = "behind";

/** Of these lanes: is there one where something is due now? One row where there is. */
export function dueBehind(dialect: Dialect, lanes: readonly string[]): Sql {
  return sql`select ${literals([BEHIND])} as stage from ${dialect.rows(
    LANE,
    lanes.map((id) => [id]),
  )}
    where (select w.next_attempt_at from ${dialect.table("webhook_delivery_sagas")} as w
      where w.status in (${literals(WAITING)}) and w.subscription_id = r.id
      order by w.next_attempt_at limit 1) <= ${dialect.now()}
    limit 1`;
}

/** A brand-new delivery beside each dead one. One that was made before, or another that is open, stays the only one. */
export function insertRequeued(dialect: Dialect, ids: readonly string[]): Sql {
  const dead = deliveryMachine.target("InProgress", "exhaust") as string;
  return insertAnew(dialect, raw("c.id"), sql`c.status = ${literals([dead])} and ${idAmong(dialect, ids)}`);
}

/** The same for deliveries that have ended in any way, as often as somebody asks for it. */
export function insertResent(dialect: Dialect, ids: readonly string[]): Sql {
  const ended = literals(deliveryMachine.terminal);
  return insertAnew(dialect, raw("null"), sql`c.status in (${ended}) and ${idAmong(dialect, ids)}`);
}

function idAmong(dialect: Dialect, ids: readonly string[]): Sql {
  return dialect.among(raw("c.id"), ids, "bigint");
}

function insertAnew(dialect: Dialect, from: Sql, where: Sql): Sql {
  const sagas = dialect.table("webhook_delivery_sagas");
  return sql`insert into ${sagas}
      (event_id, subscription_id, status, next_attempt_at, generation, requeued_from, created_at, updated_at)
    select c.event_id, c.subscription_id, 'Pending', ${dialect.now()},
      (select max(g.generation) + 1 from ${sagas} as g
        where g.event_id = c.event_id and g.subscription_id = c.subscription_id),
      cast(${from} as bigint), ${dialect.now()}, ${dialect.now()}
    from ${sagas} as c where ${where} order by c.id
    on conflict do nothing returning id, event_id, subscription_id, requeued_from`;
}

/** First deliveries of events that were not routed to a subscription when they were published. */
export function insertFirst(dialect: Dialect, subscriptionId: string, eventIds: readonly string[]): Sql {
  return sql`insert into ${dialect.table("webhook_delivery_sagas")}
      (event_id, subscription_id, status, next_attempt_at, created_at, updated_at)
    select e.id, cast(${subscriptionId} as bigint), 'Pending', ${dialect.now()}, ${dialect.now()}, ${dialect.now()}
    from ${dialect.table("webhook_events")} as e where ${dialect.among(raw("e.id"), eventIds, "bigint")} order by e.id
    on conflict do nothing returning id`;
}

export function selectRequeued(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select id, requeued_from from ${dialect.table("webhook_delivery_sagas")}
    where requeued_from is not null and ${dialect.among(raw("requeued_from"), ids, "bigint")}`;
}

/** The newest delivery of each of these events to a subscription. */
export function selectNewest(dialect: Dialect, subscriptionId: string, eventIds: readonly string[]): Sql {
  const sagas = dialect.table("webhook_delivery_sagas");
  return sql`select c.id, c.event_id, c.status from ${sagas} as c
    where ${dialect.among(raw("c.event_id"), eventIds, "bigint")} and c.subscription_id = ${subscriptionId}
      and not exists (select 1 from ${sagas} as g where g.event_id = c.event_id
        and g.subscription_id = c.subscription_id and g.generation > c.generation)`;
}
