/**
 * Lost sagas: lines of the log without a saga, because the database lost the row, as in a restore beside running workers. The
 * scan passes along the key of the log, a bounded part at a time, and `lost_sagas` keeps what it has found.
 */
import { instant, int, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import type { Selection } from "../../storage/read/selection.ts";
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

/**
 * Begins a pass of the scan, and returns the saga after which it begins. Returns no row if another pass began less than `everyMs` ago: one
 * worker of all is enough.
 */
export function beginPass(dialect: Dialect, everyMs: number): Sql {
  return sql`insert into ${dialect.table("saga_log_scan")} as s (id, position, passed_at) values (1, '', ${dialect.now()})
    on conflict (id) do update set passed_at = excluded.passed_at
    where ${dialect.plusMs(raw("s.passed_at"), everyMs)} <= ${dialect.now()} returning position`;
}

/** The lost sagas among the next `lines` lines, and the edge of the pass (storage/read/scan.ts). */
export function selectPass(dialect: Dialect, position: string, lines: number): Sql {
  return sql`with picked as materialized (select l.saga_id from ${dialect.table("saga_logs")} as l
      where l.saga_id > ${position} order by l.saga_id, l.id limit ${lines})
    select listed.saga_id, 0 as edge, 0 as looked from (select distinct picked.saga_id from picked) as listed
    where ${isGone(dialect, raw("listed.saga_id"))}
    union all select max(picked.saga_id), 1, count(*) from picked`;
}

export function endPass(dialect: Dialect, position: string): Sql {
  return sql`update ${dialect.table("saga_log_scan")} set position = ${position} where id = 1`;
}

/** A saga that has lines and no row. Its name is known only to the worker that ran it. */
export interface FoundSaga {
  readonly sagaId: string;
  readonly name: string | undefined;
}

const FOUND = fields<FoundSaga>({
  saga_id: text(({ sagaId }) => sagaId),
  name: text(({ name }) => name),
});

/** Records those of these sagas that are lost and have left lines behind. */
export function recordLost(dialect: Dialect, found: readonly FoundSaga[]): Sql {
  return sql`insert into ${dialect.table("lost_sagas")} (${FOUND.names}, found_at)
    select ${FOUND.list("r")}, ${dialect.now()} from ${dialect.rows(FOUND, found)}
    where ${isLost(dialect, raw("r.saga_id"))} on conflict do nothing`;
}

/**
 * Retention removes a saga and its lines in one transaction, so that one statement sees both or neither. Each is looked up by its
 * key: a semi-join might read the whole log.
 */
function isLost(dialect: Dialect, id: Sql): Sql {
  return sql`(select 1 from ${dialect.table("saga_logs")} as l where l.saga_id = ${id} limit 1) is not null
    and ${isGone(dialect, id)}`;
}

function isGone(dialect: Dialect, id: Sql): Sql {
  return sql`(select 1 from ${dialect.table("saga_executions")} as c where c.id = ${id}) is null`;
}

export interface LostSaga extends FoundSaga {
  /** The number of its lines, counted up to 1,000. */
  readonly lines: number;
  /** The step of its last line. */
  readonly step: string | undefined;
}

export const LOST: Projection<LostSaga> = projection<LostSaga>({
  sagaId: text("saga_id"),
  name: optional(text("name")),
  lines: int("lines"),
  step: optional(text("step")),
});

const COUNT_MAX = 1_000;

/** Lost sagas that the scan or a worker has found, and that still are lost. */
export function lostRows(dialect: Dialect): Selection {
  const lines = sql`from ${dialect.table("saga_logs")} as l where l.saga_id = z.saga_id`;
  return {
    from: sql`${dialect.table("lost_sagas")} as z`,
    where: isLost(dialect, raw("z.saga_id")),
    at: raw("z.found_at"),
    id: raw("z.saga_id"),
    columns: sql`z.saga_id, z.name, (select count(*) from (select 1 ${lines} limit ${raw(String(COUNT_MAX))}) as listed) as lines,
      (select coalesce(l.next_step, l.step_name) ${lines} and (l.next_step is not null or l.step_name not like '$%')
        order by l.id desc limit 1) as step`,
  };
}
