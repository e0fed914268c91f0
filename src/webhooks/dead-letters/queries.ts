/** The statements on dead letters. */
import { deadLetterMachine, deliveryMachine, type DeadLetterStatus } from "../../core/delivery/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";

/** As the partial indexes say it. */
const IS_OPEN = sql`d.status = ${literals(deadLetterMachine.sources("requeue"))}`;

/** A letter for each of these deliveries that is dead, taken from what the delivery says of itself. */
export function insertLetters(dialect: Dialect, deliveryIds: readonly string[]): Sql {
  const dead = literals([deliveryMachine.target("InProgress", "exhaust") as string]);
  return sql`insert into ${dialect.table("dead_letters")}
      (saga_id, event_id, subscription_id, error_code, attempt_count, created_at)
    select s.id, s.event_id, s.subscription_id, coalesce(s.final_error_code, 'unknown'), s.attempt_count, ${dialect.now()}
    from ${dialect.table("webhook_delivery_sagas")} as s
    where ${dialect.among(raw("s.id"), deliveryIds, "bigint")} and s.status || '' = ${dead}
    on conflict (saga_id) do nothing`;
}

export interface Settlement {
  readonly reason: string;
  readonly by: string | undefined;
}

export function settleLetters(
  dialect: Dialect,
  event: "requeue" | "dismiss",
  deliveryIds: readonly string[],
  { reason, by }: Settlement,
): Sql {
  const target = deadLetterMachine.target("Open", event) as DeadLetterStatus;
  return sql`update ${dialect.table("dead_letters")}
    set status = ${literals([target])}, settled_at = ${dialect.now()}, reason = ${reason}, settled_by = ${by ?? null}
    where ${dialect.among(raw("saga_id"), deliveryIds, "bigint")} and status || '' in (${literals(deadLetterMachine.sources(event))})`;
}

function columns(dialect: Dialect): Sql {
  return sql`d.saga_id, d.event_id, d.subscription_id, d.status, d.error_code,
    d.attempt_count, d.reason, d.settled_by, ${dialect.epochMs(raw("d.created_at"))} as created_at,
    ${dialect.epochMs(raw("d.settled_at"))} as settled_at, e.event_key, e.type,
    (select n.id from ${dialect.table("webhook_delivery_sagas")} as n where n.requeued_from = d.saga_id) as requeued_as`;
}

function joinEvents(dialect: Dialect): Sql {
  return sql`join ${dialect.table("webhook_events")} as e on e.id = d.event_id`;
}

/** The letters of these deliveries, locked in one order. */
export function lockLetters(dialect: Dialect, deliveryIds: readonly string[]): Sql {
  return sql`select ${columns(dialect)} from ${dialect.table("dead_letters")} as d ${joinEvents(dialect)}
    where ${dialect.among(raw("d.saga_id"), deliveryIds, "bigint")} order by d.saga_id ${dialect.forUpdateOf("d")}`;
}

/** Open letters, along the index that holds only them. */
export function openLetters(dialect: Dialect, subscriptionId?: string): Selection {
  return {
    from: sql`${dialect.table("dead_letters")} as d`,
    where: subscriptionId === undefined ? IS_OPEN : sql`${IS_OPEN} and d.subscription_id = ${subscriptionId}`,
    at: raw("d.created_at"),
    id: raw("d.id"),
    columns: columns(dialect),
    join: joinEvents(dialect),
  };
}
