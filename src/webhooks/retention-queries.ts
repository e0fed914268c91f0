/** The statements that remove ended deliveries and events that nothing is owed for. */
import { deadLetterMachine, deliveryMachine } from "../core/delivery/machine.ts";
import type { Dialect } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";
import { deleteJobs } from "./deliver/job-queries.ts";

function before(dialect: Dialect, ms: number): Sql {
  return dialect.plusMs(dialect.now(), -ms);
}

/** The longest ended deliveries, without those whose dead letter is open. */
export function selectEnded(dialect: Dialect, olderThanMs: number, limit: number): Sql {
  return sql`select s.id from ${dialect.table("webhook_delivery_sagas")} as s
    where s.status in (${literals(deliveryMachine.terminal)}) and s.updated_at <= ${before(dialect, olderThanMs)}
      and not exists (select 1 from ${dialect.table("dead_letters")} as d
        where d.saga_id = s.id and d.status in (${literals(deadLetterMachine.sources("requeue"))}))
    order by s.updated_at, s.id limit ${limit}`;
}

/** Deliveries with all that belongs to them, in this order. */
export function deleteDeliveries(dialect: Dialect, ids: readonly string[]): readonly Sql[] {
  const of = (table: Sql, column: string): Sql =>
    sql`delete from ${table} where ${dialect.among(raw(column), ids, "bigint")}`;
  return [
    of(dialect.table("webhook_attempts"), "saga_id"),
    deleteJobs(dialect, ids),
    of(dialect.table("dead_letters"), "saga_id"),
    of(dialect.table("webhook_delivery_sagas"), "id"),
  ];
}

/** The oldest events without a delivery. */
export function selectUnowed(dialect: Dialect, olderThanMs: number, limit: number): Sql {
  return sql`select e.id from ${dialect.table("webhook_events")} as e
    where e.created_at <= ${before(dialect, olderThanMs)}
      and not exists (select 1 from ${dialect.table("webhook_delivery_sagas")} as s where s.event_id = e.id)
    order by e.created_at, e.id limit ${limit}`;
}

export function deleteEvents(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("webhook_events")} where ${dialect.among(raw("id"), ids, "bigint")}`;
}
