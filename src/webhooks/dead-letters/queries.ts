/** The statements on dead letters. */
import { deadLetterMachine, deliveryMachine, type DeadLetterStatus } from "../../core/delivery/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";

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
  ids: readonly string[],
  { reason, by }: Settlement,
): Sql {
  const target = deadLetterMachine.target("Open", event) as DeadLetterStatus;
  return sql`update ${dialect.table("dead_letters")}
    set status = ${literals([target])}, settled_at = ${dialect.now()}, reason = ${reason}, settled_by = ${by ?? null}
    where ${dialect.among(raw("id"), ids, "bigint")} and status || '' in (${literals(deadLetterMachine.sources(event))})
    returning id`;
}

const COLUMNS = (
  dialect: Dialect,
): Sql => sql`d.id, d.saga_id, d.event_id, d.subscription_id, d.status, d.error_code,
  d.attempt_count, d.reason, d.settled_by, ${dialect.epochMs(raw("d.created_at"))} as created_at,
  ${dialect.epochMs(raw("d.settled_at"))} as settled_at, e.event_key, e.type,
  (select n.id from ${dialect.table("webhook_delivery_sagas")} as n where n.requeued_from = d.saga_id) as requeued_as`;

export function selectLetters(dialect: Dialect, ids: readonly string[], lock: boolean): Sql {
  return sql`select ${COLUMNS(dialect)} from ${dialect.table("dead_letters")} as d
    join ${dialect.table("webhook_events")} as e on e.id = d.event_id
    where ${dialect.among(raw("d.id"), ids, "bigint")} order by d.id ${lock ? dialect.forUpdateOf("d") : empty}`;
}

/** By delivery, for whoever knows only that. */
export function selectLetterOf(dialect: Dialect, deliveryId: string): Sql {
  return sql`select d.id from ${dialect.table("dead_letters")} as d where d.saga_id = ${deliveryId}`;
}

export interface LetterFilter {
  readonly subscriptionId?: string | undefined;
  readonly limit: number;
  readonly after?: readonly [createdAtMs: number, id: string] | undefined;
}

/** Open letters, oldest first. */
export function listLetters(dialect: Dialect, { subscriptionId, limit, after }: LetterFilter): Sql {
  const created = dialect.epochMs(raw("d.created_at"));
  const page = after
    ? sql`and (${created} > ${after[0]} or (${created} = ${after[0]} and d.id > ${after[1]}))`
    : empty;
  return sql`select ${COLUMNS(dialect)} from ${dialect.table("dead_letters")} as d
    join ${dialect.table("webhook_events")} as e on e.id = d.event_id
    where ${IS_OPEN} ${subscriptionId === undefined ? empty : sql`and d.subscription_id = ${subscriptionId}`}
      ${page}
    order by d.created_at, d.id limit ${limit}`;
}
