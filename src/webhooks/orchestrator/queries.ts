/** The orchestrator's statements: on deliveries, on its own notes about lanes, and the creation of jobs. */
import {
  ACTIVE,
  deliveryMachine,
  ROUTED,
  WAITING,
  type DeliveryStatus,
} from "../../core/delivery/machine.ts";
import type { InitialClaim } from "../../storage/claim.ts";
import type { UniqueKey, WriteMode } from "../../storage/checked-write.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { joinRows, type FirstRows } from "../../storage/first-rows.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";

const waiting = (alias: string): Sql => sql`${raw(alias)}.status in (${literals(WAITING)})`;

/** Keeps two processes from filling the same lanes beyond their places. Whoever does not get it leaves it to the other. */
export function takeTurn(dialect: Dialect): Sql {
  return sql`select t.id from ${dialect.table("webhook_turn")} as t where t.id = 1 ${dialect.forUpdateOf("t", "skip locked")}`;
}

/** Is anything due? One look at each waiting state, through (status, next_attempt_at). */
export function anythingDue(dialect: Dialect): Sql {
  const sagas = dialect.table("webhook_delivery_sagas");
  const first = (state: DeliveryStatus): Sql =>
    sql`exists (select 1 from ${sagas} where status = ${literals([state])} and next_attempt_at <= ${dialect.now()})`;
  const [one, ...others] = WAITING.map(first) as [Sql, ...Sql[]];
  return others.reduce((all, next) => sql`${all} or ${next}`, one);
}

/**
 * Walks from lane to lane, in the order of their subscriptions, without looking at what else waits in each: a crowd in
 * one lane costs nothing here. The last row has no lane where the walk came to the end.
 */
export function surveyLanes(dialect: Dialect, after: string, laneMax: number): Sql {
  const sagas = dialect.table("webhook_delivery_sagas");
  const nextAfter = (id: Sql): Sql =>
    sql`(select min(s.subscription_id) from ${sagas} as s where ${waiting("s")} and s.subscription_id > ${id})`;
  return sql`with recursive lane(id, place) as (
      select ${nextAfter(sql`cast(${after} as bigint)`)}, 1
      union all
      select ${nextAfter(sql`lane.id`)}, lane.place + 1 from lane where lane.id is not null and lane.place < ${laneMax}
    )
    select lane.id, p.status, p.concurrency, p.interval_ms, p.attempt_max,
      case when p.ordered then 1 else 0 end as ordered,
      case when n.failing_since is null then 0 else 1 end as failing,
      ${dialect.epochMs(raw("n.next_due_at"))} as next_due_at, ${dialect.epochMs(dialect.now())} as now_at,
      (select count(*) from ${dialect.table("webhook_jobs")} as j
        where j.subscription_id = lane.id and j.finished_at is null) as active
    from lane left join ${dialect.table("webhook_subscriptions")} as p on p.id = lane.id
    left join ${dialect.table("webhook_lanes")} as n on n.subscription_id = lane.id
    order by lane.place`;
}

const LANE: readonly Column[] = [
  { name: "id", type: "bigint" },
  { name: "room", type: "int" },
];

/**
 * Counted, and not asked with `exists`, which a planner may turn into a join with all active jobs; the empty text keeps
 * it from an index that holds all active jobs in another order.
 */
const noActiveJob = (dialect: Dialect, id: Sql, mode: WriteMode): Sql =>
  mode === "optimistic"
    ? raw("true")
    : sql`(select count(*) from ${dialect.table("webhook_jobs")} as j
    where j.saga_id = ${id} and j.status || '' in (${literals(ACTIVE)})) = 0`;

/**
 * A second active job of a delivery is refused by this key. A delivery that waits has no active job: the optimistic form
 * takes that for granted, the checked form looks and leaves out deliveries that have one.
 */
export const ACTIVE_JOB: UniqueKey = {
  table: "webhook_jobs",
  constraint: "webhook_jobs_active",
  columns: ["saga_id"],
};

/** The deliveries of each lane that are due, longest due first, as many as the lane has room for. */
export function dueInLanes(
  dialect: Dialect,
  lanes: readonly (readonly [id: string, room: number])[],
  roomMax: number,
  mode: WriteMode,
): Sql {
  const due: FirstRows = {
    table: dialect.table("webhook_delivery_sagas"),
    columns: ["id", "subscription_id", "status", "attempt_count"],
    where: sql`${waiting("x")} and x.subscription_id = r.id and x.next_attempt_at <= ${dialect.now()}
      and ${noActiveJob(dialect, raw("x.id"), mode)}`,
    order: raw("x.next_attempt_at, x.id"),
  };
  return sql`select s.id, s.subscription_id, s.status, s.attempt_count
    from ${dialect.rows(LANE, lanes)} ${joinRows(dialect, due, raw("r.room"), roomMax)}`;
}

/** In order: the delivery of the oldest event that is not done with, and that one only once it is due. */
export function dueInOrder(
  dialect: Dialect,
  lanes: readonly (readonly [id: string, room: number])[],
  mode: WriteMode,
): Sql {
  const sagas = dialect.table("webhook_delivery_sagas");
  return sql`select s.id, s.subscription_id, s.status, s.attempt_count
    from ${dialect.rows(LANE, lanes)} join ${sagas} as s on s.id = (
      select x.id from ${sagas} as x where ${waiting("x")} and x.subscription_id = r.id
      order by x.event_id, x.id limit 1)
    where s.next_attempt_at <= ${dialect.now()} and ${noActiveJob(dialect, raw("s.id"), mode)}`;
}

const MOVE: readonly Column[] = [
  { name: "row_id", type: "bigint" },
  { name: "from_count", type: "int" },
  { name: "new_max", type: "int" },
];

export type Move = readonly [id: string, attemptCount: number, attemptMax: number];

/**
 * Moves waiting deliveries along one arrow. Each must be as it was read; those that are not are left out. The row is
 * found by its id: the empty text keeps planners from going through the index of a whole state instead.
 */
function moveWaiting(dialect: Dialect, event: "createJob" | "exhaust", moves: readonly Move[]): Sql {
  const sources = deliveryMachine.sources(event).filter((state) => WAITING.includes(state));
  const target = deliveryMachine.target(sources[0] as DeliveryStatus, event) as DeliveryStatus;
  return sql`update ${dialect.table("webhook_delivery_sagas")} as c
    set status = ${literals([target])}, next_attempt_at = null, attempt_max = r.new_max, updated_at = ${dialect.now()}
    from ${dialect.rows(MOVE, moves)}
    where c.id = r.row_id and c.attempt_count = r.from_count and c.status || '' in (${literals(sources)})`;
}

/** Ends waiting deliveries whose limit was lowered meanwhile. */
export function exhaustWaiting(dialect: Dialect, moves: readonly Move[]): Sql {
  return sql`${moveWaiting(dialect, "exhaust", moves)} returning id`;
}

/**
 * Moves deliveries and makes a job for each that was moved: one statement where the database can. With a birth, the jobs
 * are written as it says, whatever that means; without one, they are due at once for somebody else. A second active job
 * of a delivery is refused by its key.
 */
export function createJobs(
  dialect: Dialect,
  moves: readonly Move[],
  initialClaim?: InitialClaim,
): readonly Sql[] {
  const target = deliveryMachine.target("Pending", "createJob") as DeliveryStatus;
  const moved = moveWaiting(dialect, "createJob", moves);
  const insert = sql`insert into ${dialect.table("webhook_jobs")}
    (saga_id, event_id, subscription_id, attempt, created_at, ${initialClaim?.columns ?? raw("next_attempt_at")})
    select s.id, s.event_id, s.subscription_id, s.attempt_count + 1, ${dialect.now()}, ${initialClaim?.values ?? dialect.now()}`;
  const returning = initialClaim ? sql`returning ${initialClaim.returning}` : raw("");
  const byTable = sql`from ${dialect.rows(MOVE, moves)} join ${dialect.table("webhook_delivery_sagas")} as s on s.id = r.row_id
    where s.status || '' = ${literals([target])} and s.attempt_count = r.from_count`;
  return dialect.pick({
    postgres: [
      sql`with moved as (${moved} returning c.id, c.event_id, c.subscription_id, c.attempt_count)
      ${insert} from moved as s ${returning}`,
    ],
    sqlite: [moved, sql`${insert} ${byTable} ${returning}`],
  });
}

const PACE: readonly Column[] = [
  { name: "id", type: "bigint" },
  { name: "due_ms", type: "bigint" },
];

export function paceLanes(dialect: Dialect, paces: readonly (readonly [id: string, dueMs: number])[]): Sql {
  return sql`insert into ${dialect.table("webhook_lanes")} as n (subscription_id, next_due_at)
    select r.id, ${dialect.instantOf(raw("r.due_ms"))} from ${dialect.rows(PACE, paces)} where true
    on conflict (subscription_id) do update set next_due_at = excluded.next_due_at`;
}

/** One new delivery for each routed subscription that wants the event; those that exist are left as they are. */
export function routeEvent(
  dialect: Dialect,
  eventId: string,
  patterns: readonly string[],
  pairs: readonly string[],
): Sql {
  const filters = dialect.table("webhook_subscription_filters");
  const passing = dialect.among(sql`g.attribute || '=' || g.value`, pairs);
  return sql`insert into ${dialect.table("webhook_delivery_sagas")}
      (event_id, subscription_id, status, next_attempt_at, created_at, updated_at)
    select cast(${eventId} as bigint), p.id, 'Pending', ${dialect.now()}, ${dialect.now()}, ${dialect.now()}
    from ${dialect.table("webhook_subscriptions")} as p
    where p.status in (${literals(ROUTED)})
      and p.id in (select t.subscription_id from ${dialect.table("webhook_subscription_types")} as t
        where ${dialect.among(raw("t.pattern"), patterns)})
      and not exists (select 1 from ${filters} as f where f.subscription_id = p.id and not exists (
        select 1 from ${filters} as g
        where g.subscription_id = p.id and g.attribute = f.attribute and ${passing}))
    on conflict do nothing`;
}
