/**
 * The statements that change the state of a delivery, all of them called by the orchestrator: begin, end, resend. Each
 * names the allowed source states and the expected attempt.
 */
import { deliveryMachine, WAITING, type DeliveryStatus } from "../../core/delivery/machine.ts";
import { bigint, flag, id, int, optional, text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { joinRows, type FirstRows } from "../../storage/first-rows.ts";
import { untilInstant } from "../../storage/read/next-due.ts";
import { join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import {
  anyJobDue,
  anyResult,
  firstJobGate,
  hasNoActive,
  joinEnded,
  type MovedDeliveries,
} from "./job-queries.ts";

const deliveries = (dialect: Dialect): Sql => dialect.table("webhook_delivery_sagas");

const waiting = (alias: string): Sql => sql`${raw(alias)}.status in (${literals(WAITING)})`;

/** A condition: a delivery is due. One look at each waiting state, through (status, next_attempt_at). */
export function anyDeliveryDue(dialect: Dialect): Sql {
  const first = (state: DeliveryStatus): Sql =>
    sql`exists (select 1 from ${deliveries(dialect)} where status = ${literals([state])} and next_attempt_at <= ${dialect.now()})`;
  const [one, ...others] = WAITING.map(first) as [Sql, ...Sql[]];
  return others.reduce((all, next) => sql`${all} or ${next}`, one);
}

export type DueKind = "deliveries" | "jobs" | "results";

export const DUE: Projection<Readonly<Record<DueKind, boolean>>> = projection({
  deliveries: flag("deliveries"),
  jobs: flag("jobs"),
  results: flag("results"),
});

/** Of which kinds something is due. A kind that is not asked for is not looked at. */
export function selectDue(dialect: Dialect, kinds: readonly DueKind[]): Sql {
  const asked = (kind: DueKind, condition: () => Sql): Sql =>
    kinds.includes(kind)
      ? sql`case when ${condition()} then 1 else 0 end as ${raw(kind)}`
      : raw(`0 as ${kind}`);
  return sql`select ${asked("deliveries", () => anyDeliveryDue(dialect))}, ${asked("jobs", () => anyJobDue(dialect))},
    ${asked("results", () => anyResult(dialect))}`;
}

/**
 * The milliseconds until something of these kinds is due, null if nothing is. A delivery may be due whose lane is full or pauses:
 * the claim decides.
 */
export function untilDue(dialect: Dialect, kinds: readonly DueKind[]): Sql {
  const first = (state: DeliveryStatus): Sql => sql`(select s.next_attempt_at from ${deliveries(dialect)} as s
    where s.status = ${literals([state])} and s.next_attempt_at is not null order by s.next_attempt_at limit 1)`;
  const instants: Readonly<Record<DueKind, () => readonly Sql[]>> = {
    deliveries: () => WAITING.map(first),
    jobs: () => [firstJobGate(dialect)],
    results: () => [sql`(select case when ${anyResult(dialect)} then ${dialect.now()} end)`],
  };
  const each = kinds.flatMap((kind) => instants[kind]()).map((instant) => sql`select ${instant} as at`);
  return untilInstant(dialect, sql`(select min(firsts.at) from (${join(each, " union all ")}) as firsts)`);
}

/** The next lane in which something waits. */
export function nextLaneAfter(dialect: Dialect, lane: Sql): Sql {
  return sql`(select min(s.subscription_id) from ${deliveries(dialect)} as s where ${waiting("s")} and s.subscription_id > ${lane})`;
}

/** A lane and how many jobs it may get now. */
export interface LaneRoom {
  readonly subscriptionId: string;
  readonly room: number;
}

const LANE_ROOM = fields<LaneRoom>({
  id: bigint((lane) => lane.subscriptionId),
  room: int((lane) => lane.room),
});

/** A delivery whose time has come. */
export interface DueDelivery {
  readonly id: string;
  readonly subscriptionId: string;
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
}

export const DUE_DELIVERY: Projection<DueDelivery> = projection({
  id: id("id"),
  subscriptionId: id("subscription_id"),
  status: text<DeliveryStatus>("status"),
  attemptCount: int("attempt_count"),
});

/** The deliveries of each lane that are due, longest due first, as many as the lane has room for. */
export function dueInLanes(dialect: Dialect, lanes: readonly LaneRoom[], roomMax: number): Sql {
  const due: FirstRows = {
    table: deliveries(dialect),
    columns: ["id", "subscription_id", "status", "attempt_count"],
    where: sql`${waiting("x")} and x.subscription_id = r.id and x.next_attempt_at <= ${dialect.now()}
      and ${hasNoActive(dialect, raw("x.id"))}`,
    order: raw("x.next_attempt_at, x.id"),
  };
  return sql`select s.id, s.subscription_id, s.status, s.attempt_count
    from ${dialect.rows(LANE_ROOM, lanes)} ${joinRows(dialect, due, raw("r.room"), roomMax)}`;
}

/**
 * In order: the delivery of the oldest event that is not done with, and that one only once it is due. It is found by its
 * id: the addition keeps planners from going through the index of all due deliveries instead.
 */
export function dueInOrder(dialect: Dialect, lanes: readonly LaneRoom[]): Sql {
  return sql`select s.id, s.subscription_id, s.status, s.attempt_count
    from ${dialect.rows(LANE_ROOM, lanes)} join ${deliveries(dialect)} as s on s.id = (
      select x.id from ${deliveries(dialect)} as x where ${waiting("x")} and x.subscription_id = r.id
      order by x.event_id, x.id limit 1)
    where ${dialect.plusMs(raw("s.next_attempt_at"), 0)} <= ${dialect.now()} and ${hasNoActive(dialect, raw("s.id"))}`;
}

/** A waiting delivery that moves on, as it was read, under the limit that this was decided by. */
export interface Move {
  readonly deliveryId: string;
  readonly attemptCount: number;
  readonly attemptMax: number;
}

const MOVE = fields<Move>({
  row_id: bigint((move) => move.deliveryId),
  from_count: int((move) => move.attemptCount),
  new_max: int((move) => move.attemptMax),
});

/**
 * Moves waiting deliveries along one arrow. Each must be as it was read; those that are not are left out. The row is
 * found by its id: the empty text keeps planners from going through the index of a whole state instead.
 */
function moveWaiting(dialect: Dialect, event: "createJob" | "exhaust", moves: readonly Move[]): Sql {
  const sources = deliveryMachine.sources(event).filter((state) => WAITING.includes(state));
  const target = deliveryMachine.target(sources[0] as DeliveryStatus, event) as DeliveryStatus;
  return sql`update ${deliveries(dialect)} as c
    set status = ${literals([target])}, next_attempt_at = null, attempt_max = r.new_max, updated_at = ${dialect.now()}
    from ${dialect.rows(MOVE, moves)}
    where c.id = r.row_id and c.attempt_count = r.from_count and c.status || '' in (${literals(sources)})`;
}

const STARTED = deliveryMachine.target("Pending", "createJob") as DeliveryStatus;

/** Waiting deliveries that get a job now. */
export function startAttempts(dialect: Dialect, moves: readonly Move[]): MovedDeliveries {
  return {
    update: moveWaiting(dialect, "createJob", moves),
    rows: sql`${dialect.rows(MOVE, moves)} join ${deliveries(dialect)} as s on s.id = r.row_id
      where s.status || '' = ${literals([STARTED])} and s.attempt_count = r.from_count`,
  };
}

export const DELIVERY_ID: Projection<{ readonly id: string }> = projection({ id: id("id") });

/** Ends waiting deliveries whose limit was lowered meanwhile. */
export function exhaustWaiting(dialect: Dialect, moves: readonly Move[]): Sql {
  return sql`${moveWaiting(dialect, "exhaust", moves)} returning id`;
}

/** What a report means for the delivery whose job it has ended. */
export interface Outcome {
  readonly jobId: string;
  readonly report: string;
  readonly to: DeliveryStatus;
  readonly error: string | null;
  readonly attemptMax: number;
  readonly waitMs: number | null;
}

const SUCCEEDED = deliveryMachine.target("InProgress", "succeed") as DeliveryStatus;

const OUTCOME = fields<Outcome>({
  job_id: bigint((outcome) => outcome.jobId),
  report: uuid((outcome) => outcome.report),
  new_max: int((outcome) => outcome.attemptMax),
  to_status: text((outcome) => outcome.to, { default: SUCCEEDED }),
  error: text((outcome) => outcome.error, { default: null }),
  wait_ms: int((outcome) => outcome.waitMs, { default: null }),
});

/** States that a result may leave. */
const RUNNING = deliveryMachine.states.filter((state) =>
  (["succeed", "fail", "exhaust"] as const).every(
    (event) => deliveryMachine.target(state, event) !== undefined,
  ),
);

/**
 * The delivery `c` waits for the result of the job `j`: a result counts for the attempt that its job was made for, and
 * only while that is the next one.
 */
const IS_NEXT = sql`c.id = j.of_saga and c.attempt_count = j.of_attempt - 1 and c.status || '' in (${literals(RUNNING)})`;

/** Applies results whose jobs they have ended. Each counts once. */
export function applyOutcomes(dialect: Dialect, outcomes: readonly Outcome[]): Sql {
  return sql`update ${deliveries(dialect)} as c
    set status = r.to_status, attempt_count = c.attempt_count + 1, attempt_max = r.new_max,
      final_error_code = r.error, updated_at = ${dialect.now()},
      next_attempt_at = case when r.wait_ms is null then null
        else ${dialect.plusMs(dialect.now(), raw("r.wait_ms"))} end
    from ${dialect.rows(OUTCOME, outcomes)} ${joinEnded(dialect)}
    where ${IS_NEXT}`;
}

/** Of the reports `r`, those that will count. Asked before they are applied: afterwards their deliveries are further on. */
export function joinCounting(dialect: Dialect): Sql {
  return sql`${joinEnded(dialect)} join ${deliveries(dialect)} as c on ${IS_NEXT}`;
}

const LANE = fields<string>({ id: bigint((lane) => lane) });

/** One row if something is due now in one of these lanes. */
export function dueBehind(dialect: Dialect, lanes: readonly string[]): Sql {
  return sql`select 1 as due from ${dialect.rows(LANE, lanes)}
    where (select w.next_attempt_at from ${deliveries(dialect)} as w
      where ${waiting("w")} and w.subscription_id = r.id
      order by w.next_attempt_at limit 1) <= ${dialect.now()}
    limit 1`;
}

/** A brand-new delivery beside each dead one. One that was made before, or another that is open, stays the only one. */
export function insertRequeued(dialect: Dialect, ids: readonly string[]): Sql {
  const dead = deliveryMachine.target("InProgress", "exhaust") as DeliveryStatus;
  return insertAnew(dialect, raw("c.id"), sql`c.status = ${literals([dead])} and ${idAmong(dialect, ids)}`);
}

/** The same for deliveries that have ended in any way, as often as a person asks for it. */
export function insertResent(dialect: Dialect, ids: readonly string[]): Sql {
  const ended = literals(deliveryMachine.terminal);
  return insertAnew(dialect, raw("null"), sql`c.status in (${ended}) and ${idAmong(dialect, ids)}`);
}

function idAmong(dialect: Dialect, ids: readonly string[]): Sql {
  return dialect.among(raw("c.id"), ids, "bigint");
}

/** A new delivery begins as the table says: a role that may add deliveries can add none in another state. */
function insertAnew(dialect: Dialect, from: Sql, where: Sql): Sql {
  return sql`insert into ${deliveries(dialect)}
      (event_id, subscription_id, next_attempt_at, generation, requeued_from, created_at, updated_at)
    select c.event_id, c.subscription_id, ${dialect.now()},
      (select max(g.generation) + 1 from ${deliveries(dialect)} as g
        where g.event_id = c.event_id and g.subscription_id = c.subscription_id),
      cast(${from} as bigint), ${dialect.now()}, ${dialect.now()}
    from ${deliveries(dialect)} as c where ${where} order by c.id
    on conflict do nothing returning id, requeued_from`;
}

export interface MadeAnew {
  readonly id: string;
  readonly requeuedFrom: string | undefined;
}

export const MADE_ANEW: Projection<MadeAnew> = projection({
  id: id("id"),
  requeuedFrom: optional(id("requeued_from")),
});

/** First deliveries of events that were not routed to a subscription when they were published. */
export function insertFirst(dialect: Dialect, subscriptionId: string, eventIds: readonly string[]): Sql {
  return sql`insert into ${deliveries(dialect)} (event_id, subscription_id, next_attempt_at, created_at, updated_at)
    select e.id, cast(${subscriptionId} as bigint), ${dialect.now()}, ${dialect.now()}, ${dialect.now()}
    from ${dialect.table("webhook_events")} as e where ${dialect.among(raw("e.id"), eventIds, "bigint")} order by e.id
    on conflict do nothing returning id`;
}

export function selectRequeued(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select id, requeued_from from ${deliveries(dialect)}
    where requeued_from is not null and ${dialect.among(raw("requeued_from"), ids, "bigint")}`;
}

export const NEWEST: Projection<{ readonly id: string; readonly eventId: string }> = projection({
  id: id("id"),
  eventId: id("event_id"),
});

/** The newest delivery of each of these events to a subscription. */
export function selectNewest(dialect: Dialect, subscriptionId: string, eventIds: readonly string[]): Sql {
  return sql`select c.id, c.event_id from ${deliveries(dialect)} as c
    where ${dialect.among(raw("c.event_id"), eventIds, "bigint")} and c.subscription_id = ${subscriptionId}
      and not exists (select 1 from ${deliveries(dialect)} as g where g.event_id = c.event_id
        and g.subscription_id = c.subscription_id and g.generation > c.generation)`;
}
