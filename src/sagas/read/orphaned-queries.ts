/** Lines of sagas that have no row: the database lost the row, as in a restore beside running workers. */
import { instant, int, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";

export interface OrphanedLines {
  readonly sagaId: string;
  readonly lines: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

export const ORPHANED: Projection<OrphanedLines> = projection<OrphanedLines>({
  sagaId: text("saga_id"),
  lines: int("lines"),
  firstAt: instant("first_at"),
  lastAt: instant("last_at"),
});

/** Reads the whole log along its key: for the doctor, not for a poll. */
export function listOrphaned(dialect: Dialect, limit: number): Sql {
  const at = (of: string): Sql => dialect.epochMs(raw(`${of}(l.created_at)`));
  return sql`select l.saga_id, count(*) as lines, ${at("min")} as first_at, ${at("max")} as last_at
    from ${dialect.table("saga_logs")} as l
    where not exists (select 1 from ${dialect.table("saga_executions")} as c where c.id = l.saga_id)
    group by l.saga_id order by l.saga_id limit ${limit}`;
}
