/** The statements of retention: which ended sagas are old enough, and their removal. */
import { sagaMachine, type SagaStatus } from "../core/saga/machine.ts";
import type { Dialect } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";

/** Along the index of ended sagas, the longest ended first. */
export function selectExpired(dialect: Dialect, status: SagaStatus, afterMs: number, limit: number): Sql {
  return sql`select c.id from ${dialect.table("saga_executions")} as c
    where c.status = ${literals([status])} and c.status in (${literals(sagaMachine.terminal)})
      and c.updated_at < ${dialect.plusMs(dialect.now(), -afterMs)}
    order by c.updated_at, c.id limit ${limit}`;
}

export function deleteLogs(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_logs")} where ${dialect.among(raw("saga_id"), ids)}`;
}

export function deleteSagas(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_executions")} where ${dialect.among(raw("id"), ids)}
    and status || '' in (${literals(sagaMachine.terminal)})`;
}
