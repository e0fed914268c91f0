/** The statements on workers. */
import { flag, instant, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { sql, type Sql } from "../../storage/sql.ts";
import { table, type Table } from "../../storage/table.ts";

export interface WorkerRow {
  readonly owner: string;
  readonly seenAt: number;
  readonly stoppedAt: number | undefined;
  /** True for `runOnce`. */
  readonly isRun: boolean;
}

export const WORKER: Table<WorkerRow> = table("workers", {
  owner: text("owner"),
  seenAt: instant("seen_at"),
  stoppedAt: optional(instant("stopped_at")),
  isRun: flag("is_run"),
});

/** The row of a worker that ended longer ago than this is used again, because a worker may have no right to delete. */
const FORGOTTEN_MS = 86_400_000;

/** Takes the row of a worker that ended long ago. Returns no row if there is none. */
export function takeOldRow(dialect: Dialect, owner: string, isRun: boolean): Sql {
  const name = dialect.table("workers");
  const longAgo = dialect.plusMs(dialect.now(), -FORGOTTEN_MS);
  return sql`update ${name} set owner = ${owner}, started_at = ${dialect.now()}, seen_at = ${dialect.now()}, stopped_at = null, is_run = ${truth(isRun)}
    where owner = (select w.owner from ${name} as w where w.seen_at < ${longAgo} order by w.seen_at limit 1)
    returning owner`;
}

export function saySeen(dialect: Dialect, owner: string, isRun: boolean): Sql {
  return sql`insert into ${dialect.table("workers")} (owner, started_at, seen_at, is_run)
    values (${owner}, ${dialect.now()}, ${dialect.now()}, ${truth(isRun)})
    on conflict (owner) do update set seen_at = excluded.seen_at, stopped_at = null, is_run = excluded.is_run`;
}

/** A literal that both databases know. */
function truth(is: boolean): Sql {
  return is ? sql`true` : sql`false`;
}

export function sayStopped(dialect: Dialect, owner: string): Sql {
  return sql`update ${dialect.table("workers")} set seen_at = ${dialect.now()}, stopped_at = ${dialect.now()} where owner = ${owner}`;
}

/** The last seen first. */
export function listWorkers(dialect: Dialect, limit: number): Sql {
  return sql`select ${WORKER.columns(dialect, "w")}, ${dialect.epochMs(dialect.now())} as now_at
    from ${WORKER.of(dialect)} as w order by w.seen_at desc limit ${limit}`;
}
