/** The statements on archived sagas. */
import { sagaMachine } from "../../core/saga/machine.ts";
import { executionColumns } from "../journal/queries.ts";
import { int, text } from "../../storage/column.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";

export function selectEnded(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select ${executionColumns(dialect, "c")} from ${dialect.table("saga_executions")} as c
    where ${dialect.among(raw("c.id"), ids)} and c.status || '' in (${literals(sagaMachine.terminal)}) order by c.id`;
}

/** A saga's row and its lines, as they were read. */
export interface EndedSaga {
  readonly row: Row;
  readonly logs: readonly Row[];
}

const ARCHIVED = fields<EndedSaga>({
  id: text(({ row }) => row["id"] as string),
  name: text(({ row }) => row["name"] as string),
  status: text(({ row }) => row["status"] as string),
  plan: text(({ row }) => row["plan"] as string),
  recovery_attempts: int(({ row }) => Number(row["recovery_attempts"])),
  record: text((saga) => JSON.stringify(saga)),
  created_ms: text(({ row }) => String(row["created_at"])),
  updated_ms: text(({ row }) => String(row["updated_at"])),
});

/** Archiving the same saga again changes nothing. */
export function insertArchived(dialect: Dialect, sagas: readonly EndedSaga[]): Sql {
  return sql`insert into ${dialect.table("saga_archive")}
      (id, name, status, plan, recovery_attempts, record, created_at, updated_at, archived_at)
    select r.id, r.name, r.status, r.plan, r.recovery_attempts, r.record,
      ${dialect.instantOf(raw("r.created_ms"))}, ${dialect.instantOf(raw("r.updated_ms"))}, ${dialect.now()}
    from ${dialect.rows(ARCHIVED, sagas)} where true on conflict do nothing`;
}

export function selectArchived(dialect: Dialect, id: string): Sql {
  return sql`select a.record, ${dialect.epochMs(raw("a.archived_at"))} as archived_at
    from ${dialect.table("saga_archive")} as a where a.id = ${id} order by a.updated_at desc limit 1`;
}

/** Those that were archived longest ago. */
export function selectForgotten(dialect: Dialect, afterMs: number, limit: number): Sql {
  return sql`select a.id from ${dialect.table("saga_archive")} as a
    where a.archived_at < ${dialect.plusMs(dialect.now(), -afterMs)} order by a.archived_at, a.id limit ${limit}`;
}

export function deleteArchived(dialect: Dialect, ids: readonly string[], afterMs: number): Sql {
  return sql`delete from ${dialect.table("saga_archive")}
    where ${dialect.among(raw("id"), ids)} and archived_at < ${dialect.plusMs(dialect.now(), -afterMs)}`;
}
