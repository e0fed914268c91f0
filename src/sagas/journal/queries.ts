/** The statements on sagas that are not hot: claims, reads, renewals. The hot ones are in flush.ts. */
import { BEGUN, CLAIMABLE, RECORDED, STALLED, sagaMachine } from "../../core/saga/machine.ts";
import { encodePlan, UNRECORDED_PLAN, type Plan } from "../../core/saga/plan.ts";
import { claimStatement, renewStatement, type Claimable } from "../../storage/claim.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { Claimed, Kind } from "./journal.ts";
import { executionColumns, logColumns } from "./rows.ts";

/** Sagas that never lost a worker come first: one that kills its worker must not take the healthy ones along. */
export const SAGAS: Claimable = {
  table: "saga_executions",
  id: "id",
  states: CLAIMABLE,
  classes: [sql`due.recovery_attempts = 0`, sql`due.recovery_attempts > 0`],
  rank: sql`due.recovery_attempts`,
};

/** A claim of a saga whose owner did not give it back is a recovery, and is counted as one. */
export function claimSagas(
  dialect: Dialect,
  kinds: readonly Kind[],
  limit: number,
  owner: string,
  leaseMs: number,
  except: readonly string[] = [],
): Sql {
  const kind = sql`due.name || '@' || due.definition`;
  return claimStatement(dialect, SAGAS, {
    limit,
    leaseMs,
    except,
    where: dialect.among(
      kind,
      kinds.map(({ name, version }) => `${name}@${version}`),
    ),
    set: sql`status = case when c.status = ${literals([RECORDED])} then ${literals([BEGUN])} else c.status end,
      recovery_attempts = c.recovery_attempts + case when c.owner is null then 0 else 1 end,
      owner = ${owner}, updated_at = ${dialect.now()}`,
    returning: executionColumns(dialect),
  });
}

/** The plan of sagas that a reference started, as the definition of the worker that claimed them first has it. */
export function recordPlans(
  dialect: Dialect,
  sagas: readonly { readonly id: string; readonly plan: Plan; readonly deadlineMs: number | undefined }[],
): Sql {
  const rows = sagas.map(({ id, plan, deadlineMs }) => [id, encodePlan(plan), deadlineMs ?? null]);
  const deadline = dialect.plusMs(raw("c.created_at"), raw("r.deadline_ms"));
  return sql`update ${dialect.table("saga_executions")} as c
    set plan = r.plan, deadline_at = coalesce(c.deadline_at, case when r.deadline_ms is null then null else ${deadline} end)
    from ${dialect.rows(PLANNED, rows)} where c.id = r.id and c.plan = ${UNRECORDED_PLAN}`;
}

const PLANNED: readonly Column[] = [
  { name: "id", type: "text" },
  { name: "plan", type: "text" },
  { name: "deadline_ms", type: "text" },
];

/** One that was given back has no owner: a renewal that was under way then must not close its gate again. */
export function renewSagas(dialect: Dialect, holds: readonly Claimed[], leaseMs: number): Sql {
  return renewStatement(dialect, SAGAS, holds, leaseMs, raw("id, version"), raw("c.owner is not null"));
}

export function selectSaga(dialect: Dialect, id: string, lock: boolean): Sql {
  return sql`select ${executionColumns(dialect, "c")} from ${dialect.table("saga_executions")} as c
    where c.id = ${id} ${lock ? dialect.forUpdateOf("c") : empty}`;
}

export function selectLogs(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select ${logColumns(dialect)} from ${dialect.table("saga_logs")}
    where ${dialect.among(raw("saga_id"), ids)} order by saga_id, id`;
}

/**
 * Sagas whose plan or log cannot be read, or whose log has lines of another saga: nothing can be decided about them but
 * that a person must look.
 */
export function stallDamaged(
  dialect: Dialect,
  kind: "unreadable" | "foreign-lines",
  ids: readonly string[],
): Sql {
  return sql`update ${dialect.table("saga_executions")}
    set status = ${literals([STALLED])}, owner = null, next_attempt_at = null, error = ${JSON.stringify({ stall: { kind } })}, updated_at = ${dialect.now()}
    where ${dialect.among(raw("id"), ids)} and status in (${literals(sagaMachine.sources("stall"))})`;
}
