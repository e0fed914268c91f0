/** The statements on sagas that are not hot: claims, reads, renewals. The hot ones are in flush.ts. */
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { claimStatement, renewStatement, type Claimable } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
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
    set: sql`status = case when c.status = 'PENDING' then 'RUNNING' else c.status end,
      recovery_attempts = c.recovery_attempts + case when c.owner is null then 0 else 1 end,
      owner = ${owner}, updated_at = ${dialect.now()}`,
    returning: executionColumns(dialect),
  });
}

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

export function countOpenKinds(dialect: Dialect): Sql {
  return sql`select name, definition, count(*) as sagas from ${dialect.table("saga_executions")}
    where status in (${raw(CLAIMABLE.map((state) => `'${state}'`).join(", "))}) group by name, definition`;
}

export interface SagaFilter {
  readonly status?: SagaStatus | undefined;
  readonly name?: string | undefined;
  readonly limit: number;
  /** Goes on after this saga: the instant and id of the last one of the page before. */
  readonly after?: { readonly updatedAtMs: number; readonly id: string } | undefined;
}

/** Sagas by the instant of their last change, oldest first. A state is a literal, or no partial index would serve. */
export function listSagas(dialect: Dialect, filter: SagaFilter): Sql {
  const updated = dialect.epochMs(raw("c.updated_at"));
  const { status, name, after } = filter;
  return sql`select ${executionColumns(dialect, "c")}, c.error from ${dialect.table("saga_executions")} as c
    where true ${status === undefined ? empty : sql`and c.status = ${literals([status])}`}
      ${name === undefined ? empty : sql`and c.name = ${name}`}
      ${after ? sql`and (${updated} > ${after.updatedAtMs} or (${updated} = ${after.updatedAtMs} and c.id > ${after.id}))` : empty}
    order by c.updated_at, c.id limit ${filter.limit}`;
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
    set status = 'STALLED', owner = null, next_attempt_at = null, error = ${JSON.stringify({ stall: { kind } })}, updated_at = ${dialect.now()}
    where ${dialect.among(raw("id"), ids)} and status in (${literals(sagaMachine.sources("stall"))})`;
}
