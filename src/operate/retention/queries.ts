/** The statements that remove what has ended. Each names the states that it may remove, whatever was found before. */
import { flowMachine, type FlowStatus } from "../../core/flow/machine.ts";
import { BLOCKING, outboxMachine } from "../../core/outbox/machine.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";

function before(dialect: Dialect, afterMs: number): Sql {
  return dialect.plusMs(dialect.now(), -afterMs);
}

/** Along the index of ended sagas, the longest ended first. */
export function selectExpired(dialect: Dialect, status: SagaStatus, afterMs: number, limit: number): Sql {
  return sql`select c.id from ${dialect.table("saga_executions")} as c
    where c.status = ${literals([status])} and c.status in (${literals(sagaMachine.terminal)})
      and c.updated_at < ${before(dialect, afterMs)}
    order by c.updated_at, c.id limit ${limit}`;
}

/**
 * Of these, those that are still to go. Between two looks somebody else may have removed one, and its id may stand for
 * a saga that runs.
 */
function stillExpired(dialect: Dialect, ids: readonly string[], status: SagaStatus, afterMs: number): Sql {
  return sql`${dialect.among(raw("id"), ids)} and status || '' = ${literals([status])}
    and updated_at < ${before(dialect, afterMs)}`;
}

export function selectStillExpired(
  dialect: Dialect,
  ids: readonly string[],
  status: SagaStatus,
  afterMs: number,
): Sql {
  return sql`select id from ${dialect.table("saga_executions")} where ${stillExpired(dialect, ids, status, afterMs)}`;
}

export function deleteLogs(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_logs")} where ${dialect.among(raw("saga_id"), ids)}`;
}

/** Before their logs: whoever starts a saga under such an id waits until all of the old one is gone. */
export function deleteSagas(
  dialect: Dialect,
  ids: readonly string[],
  status: SagaStatus,
  afterMs: number,
): Sql {
  return sql`delete from ${dialect.table("saga_executions")}
    where ${stillExpired(dialect, ids, status, afterMs)} returning id`;
}

/** Along the index of ended runs, the longest ended first. */
export function selectExpiredRuns(dialect: Dialect, status: FlowStatus, afterMs: number, limit: number): Sql {
  return sql`select c.saga_id, c.trail from ${dialect.table("saga_state")} as c
    where c.status = ${literals([status])} and c.status in (${literals(flowMachine.terminal)})
      and c.rested_at < ${before(dialect, afterMs)}
    order by c.rested_at, c.saga_id limit ${limit}`;
}

export function deleteRuns(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_state")} where ${dialect.among(raw("saga_id"), ids)}
    and status || '' in (${literals(flowMachine.terminal)})`;
}

/** An event that nobody has taken yet, and nobody was ever asked to take. */
const UNTAKEN = raw("(kind = 'event' and status || '' = 'pending' and attempts = 0)");

/** All but what waits for a person, or is under way. */
export function deleteEntries(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("outbox")} where ${among(dialect, ids)}
    and (status || '' in (${literals(outboxMachine.terminal)}) or ${UNTAKEN})`;
}

function among(dialect: Dialect, ids: readonly string[]): Sql {
  const rows = dialect.rows(
    [{ name: "row_id", type: "uuid" }],
    ids.map((id) => [id]),
  );
  return sql`entry_id in (select r.row_id from ${rows})`;
}

export interface Stretch {
  readonly after: string;
  readonly end: string;
  readonly limit: number;
}

/**
 * A stretch of the outbox along its key, and which of it may go: what was done with long ago, unless a run that is
 * still there shows it, or another entry of the same request is still open; and events that nobody has taken.
 */
export function lookThrough(
  dialect: Dialect,
  { after, end, limit }: Stretch,
  { doneMs, untakenMs }: { readonly doneMs: number | undefined; readonly untakenMs: number | undefined },
): Sql {
  const outbox = dialect.table("outbox");
  const isDone =
    doneMs === undefined
      ? raw("false")
      : sql`(p.status in (${literals(outboxMachine.terminal)}) and coalesce(p.last_attempt_at, p.enqueued_at) < ${before(dialect, doneMs)})`;
  const isUntaken =
    untakenMs === undefined
      ? empty
      : sql`or (p.kind = 'event' and p.status = 'pending' and p.attempts = 0 and p.enqueued_at < ${before(dialect, untakenMs)})`;
  return sql`select p.entry_id, case when (${isDone} ${isUntaken})
        and not exists (select 1 from ${dialect.table("saga_state")} as s where s.saga_id = p.saga_id)
        and not exists (select 1 from ${outbox} as b where b.subject_id = p.subject_id and b.operation = p.operation
          and b.kind = 'erasure' and b.status in (${literals(BLOCKING)}))
      then 1 else 0 end as gone
    from (select * from ${outbox} as o where o.entry_id > ${after} and o.entry_id < ${end}
      order by o.entry_id limit ${limit}) as p order by p.entry_id`;
}

/** Until the end of this transaction, by this role. Its name was checked: a name cannot be a parameter. */
export function actAs(role: string): Sql {
  return raw(`set local role "${role}"`);
}
