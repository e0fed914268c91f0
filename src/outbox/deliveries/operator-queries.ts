/** Abandoned deliveries and events: read one, and retry or resolve it. */
import { outboxMachine, SUPERSEDED, type OutboxStatus } from "../../core/outbox/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, sql, type Sql } from "../../storage/sql.ts";
import { DELIVERY_STATE } from "./row.ts";

/** Returns a `DELIVERY_STATE` row. */
export function selectDelivery(dialect: Dialect, id: string): Sql {
  return sql`select ${DELIVERY_STATE.columns(dialect, "c")} from ${dialect.table("outbox")} as c
    where c.entry_id = ${id} and c.event_id is not null`;
}

const REQUEUED = outboxMachine.target("abandoned", "requeue") as OutboxStatus;

/** Requeues an abandoned delivery with its attempts reset, and appends the note. */
export function requeueDelivery(dialect: Dialect, id: string, note: string): Sql {
  return sql`update ${dialect.table("outbox")}
    set status = ${literals([REQUEUED])}, attempts = 0, next_attempt_at = null, requeues = requeues + 1, notes = ${added(note)}
    where ${isAbandoned(id)} returning entry_id`;
}

/** Supersedes an abandoned delivery without handling it. */
export function supersedeDelivery(dialect: Dialect, id: string, note: string): Sql {
  return sql`update ${dialect.table("outbox")} set status = ${literals([SUPERSEDED])}, notes = ${added(note)}
    where ${isAbandoned(id)} returning entry_id`;
}

/** Finds a delivery that has this note: the answer to the commit that wrote it may have been lost. */
export function findNoted(dialect: Dialect, id: string, note: string): Sql {
  return sql`select entry_id from ${dialect.table("outbox")}
    where entry_id = ${id} and replace(notes, ${note}, '') <> notes`;
}

function isAbandoned(id: string): Sql {
  return sql`entry_id = ${id} and event_id is not null and status in (${literals(outboxMachine.sources("requeue"))})`;
}

/** Appends a note to a JSON list, as text. */
function added(note: string): Sql {
  return sql`case when notes is null then '[' else substr(notes, 1, length(notes) - 1) || ',' end || ${note} || ']'`;
}
