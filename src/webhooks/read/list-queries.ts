/**
 * Lists of deliveries. Ids are counted up, so they lead from the newest back: along the states that are wanted, or along
 * one subscription, which a statement follows for a stretch and no further.
 */
import { deliveryMachine, type DeliveryStatus } from "../../core/delivery/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { selectDeliveries } from "../delivery-queries.ts";

export interface DeliveryRange {
  readonly subscriptionId: string | undefined;
  /** None: deliveries in every state. */
  readonly statuses: readonly DeliveryStatus[];
  readonly eventId: string | undefined;
  /** The id of the last delivery of the previous page. */
  readonly after: string | undefined;
}

/** A list with a filter looks through this many deliveries and no further. */
export const DELIVERY_SCAN_MAX = 2_000;

/** The last row that was looked at comes last, with `edge` set, so that a search can go on from there. */
export function listNewest(dialect: Dialect, range: DeliveryRange, limit: number): Sql {
  const { subscriptionId, statuses, eventId, after } = range;
  const table = dialect.table("webhook_delivery_sagas");
  const older = after === undefined ? empty : sql`and c.id < ${after}`;
  const event = sql`(select e.id from ${dialect.table("webhook_events")} as e where e.event_key = ${eventId ?? ""})`;
  const ways = [
    ...(subscriptionId === undefined ? [] : [sql`c.subscription_id = ${subscriptionId}`]),
    ...(eventId === undefined ? [] : [sql`c.event_id = ${event}`]),
  ];
  // From the lowest id on: so each database sees that the statement walks along the key.
  const stretch = (where: Sql, max: number): Sql =>
    sql`select * from (select c.id, c.status from ${table} as c where ${where} and c.id > 0 ${older} order by c.id desc limit ${max}) as walk`;
  const isNarrow = ways.length > 0;
  const walks =
    isNarrow || statuses.length === 0
      ? [stretch(join([raw("true"), ...ways], " and "), isNarrow ? DELIVERY_SCAN_MAX : limit)]
      : statuses.map((status) => stretch(sql`c.status = ${literals([status])}`, limit));
  const fits = statuses.length === 0 ? empty : sql`where k.status in (${literals(statuses)})`;
  const lines = (picked: Sql, edge: Sql): Sql => sql`select hits.*, ${edge} from (
    ${selectDeliveries(dialect)} join (${picked}) as p on p.id = s.id) as hits`;
  return sql`with k as materialized (${join(walks, " union all ")})
    ${lines(sql`select k.id from k ${fits} order by k.id desc limit ${limit}`, raw("0 as edge, 0 as looked"))}
    union all
    ${lines(raw("select min(k.id) as id from k"), raw("1 as edge, (select count(*) from k) as looked"))}
    order by edge, id desc`;
}

/** What a delivery shows of its subscription. */
export function selectBriefs(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select p.id, p.url, p.description, p.status, p.reason from ${dialect.table("webhook_subscriptions")} as p
    where ${dialect.among(raw("p.id"), ids, "bigint")}`;
}

/** The state of a dead delivery's letter, and the delivery that took its place. */
export function selectAftermath(dialect: Dialect, deliveryId: string): Sql {
  return sql`select (select d.status from ${dialect.table("dead_letters")} as d where d.saga_id = ${deliveryId}) as letter,
    (select s.id from ${dialect.table("webhook_delivery_sagas")} as s where s.requeued_from = ${deliveryId}) as resent_as`;
}

export function selectResponse(dialect: Dialect, attemptId: string): Sql {
  return sql`select a.response_body from ${dialect.table("webhook_attempts")} as a where a.id = ${attemptId}`;
}

/** How many there are of each state, counted no further than `max`. */
export function countStates(dialect: Dialect, max: number): Sql {
  const counts = deliveryMachine.states.map(
    (status) =>
      sql`(select count(*) from (select 1 from ${dialect.table("webhook_delivery_sagas")} as c
        where c.status = ${literals([status])} limit ${max + 1}) as counted) as ${raw(status.toLowerCase())}`,
  );
  return sql`select ${join(counts, ", ")}`;
}
