/** The statements that remove ended runs. Each statement lists the states that it may remove. */
import { flowMachine, type FlowStatus } from "../core/flow/machine.ts";
import type { Dialect } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";

/** Along the index of ended runs, the longest ended first. */
export function selectExpiredRuns(dialect: Dialect, status: FlowStatus, afterMs: number, limit: number): Sql {
  return sql`select c.saga_id, c.trail from ${dialect.table("saga_state")} as c
    where c.status = ${literals([status])} and c.status in (${literals(flowMachine.terminal)})
      and c.rested_at < ${dialect.plusMs(dialect.now(), -afterMs)}
    order by c.rested_at, c.saga_id limit ${limit}`;
}

export function deleteRuns(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_state")} where ${dialect.among(raw("saga_id"), ids)}
    and status || '' in (${literals(flowMachine.terminal)})`;
}

/** Whether the run of the entry `p` still exists. */
export function runExists(dialect: Dialect): Sql {
  return sql`exists (select 1 from ${dialect.table("saga_state")} as s where s.saga_id = p.saga_id)`;
}
