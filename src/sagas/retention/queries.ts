/** The statements that remove ended sagas. Each names the states that it may remove, whatever was found before. */
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { isAwaitedByNone } from "../journal/family-queries.ts";

/** Sagas that ended in this state longer ago than this. */
export interface Expiry {
  readonly status: SagaStatus;
  readonly afterMs: number;
}

function before(dialect: Dialect, afterMs: number): Sql {
  return dialect.plusMs(dialect.now(), -afterMs);
}

/** Along the index of ended sagas, the longest ended first. */
export function selectExpired(dialect: Dialect, { status, afterMs }: Expiry, limit: number): Sql {
  return sql`select c.id from ${dialect.table("saga_executions")} as c
    where c.status = ${literals([status])} and c.status in (${literals(sagaMachine.terminal)})
      and c.updated_at < ${before(dialect, afterMs)} and ${isAwaitedByNone(dialect)}
    order by c.updated_at, c.id limit ${limit}`;
}

/**
 * Of these ids, the sagas that are still expired. Between two statements another process may have removed one, and its
 * id may stand for a saga that runs.
 */
function stillExpired(dialect: Dialect, ids: readonly string[], { status, afterMs }: Expiry): Sql {
  return sql`${dialect.among(raw("id"), ids)} and status || '' = ${literals([status])}
    and updated_at < ${before(dialect, afterMs)}`;
}

export function selectStillExpired(dialect: Dialect, ids: readonly string[], expiry: Expiry): Sql {
  return sql`select id from ${dialect.table("saga_executions")} where ${stillExpired(dialect, ids, expiry)}`;
}

/** Before their logs: a start under the same id waits until all of the old saga is gone. */
export function deleteSagas(dialect: Dialect, ids: readonly string[], expiry: Expiry): Sql {
  return sql`delete from ${dialect.table("saga_executions")}
    where ${stillExpired(dialect, ids, expiry)} returning id`;
}

export function deleteLogs(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_logs")} where ${dialect.among(raw("saga_id"), ids)}`;
}
