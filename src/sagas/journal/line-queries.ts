/**
 * Inserts lines of the log. A line is inserted at the version that it makes; a claim inserts such a line too, so a worker
 * that lost its saga finds its next version taken.
 */
import { OPEN } from "../../core/saga/machine.ts";
import { bigint, int, text } from "../../storage/column.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { fields, type Fields } from "../../storage/fields.ts";
import { literals, sql, type Sql } from "../../storage/sql.ts";
import { projection } from "../../storage/table.ts";
import type { Checkpoint } from "./journal.ts";

export type Line = Pick<Checkpoint, "sagaId" | "version" | "token" | "entry">;

/** A further line of a checkpoint: it is written only with the first one, which has this version. */
export interface FurtherLine extends Line {
  readonly head: number;
}

const LINE: Fields<Line> = fields<Line>({
  saga_id: text(({ sagaId }) => sagaId),
  id: int(({ version }) => version),
  token: bigint(({ token }) => token),
  step_name: text(({ entry }) => entry.step),
  action: text(({ entry }) => entry.action, { default: "act" }),
  status: text(({ entry }) => entry.status, { default: "COMPLETED" }),
  details: text(({ entry }) => entry.details),
  next_step: text(({ entry }) => entry.next?.step),
  next_action: text(({ entry }) => entry.next?.action),
});
const LINE_KEY = LINE.pick("saga_id", "id", "token");
const LINE_VALUES = LINE.list("r");

/** The optimistic insert: one taken version fails the statement. */
export function insertOptimisticLines(dialect: Dialect, lines: readonly Line[]): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${LINE.names}, created_at)
    select ${LINE_VALUES}, ${dialect.now()} from ${dialect.rows(LINE, lines)}`;
}

/** The same after the update of the sagas' rows: a claim writes in this order too, so that the two cannot deadlock. */
export function insertLinesAfter(dialect: Dialect, move: Sql, lines: readonly Line[]): readonly Sql[] {
  const insert = insertOptimisticLines(dialect, lines);
  // Counting the moved rows makes the update finish before the insert begins.
  const together = sql`with moved as (${move} returning 1) ${insert} where (select count(*) from moved) >= 0`;
  return dialect.pick({ postgres: [together], sqlite: [move, insert] });
}

/** The checked insert of lines that leave the saga's row unchanged: their version is the fence. Taken versions are left out. */
export function insertLines(dialect: Dialect, lines: readonly Line[]): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${LINE.names}, created_at)
    select ${LINE_VALUES}, ${dialect.now()} from ${dialect.rows(LINE, lines)} where true
    on conflict do nothing returning saga_id, id, token`;
}

const FENCED_LINE = fields<Checkpoint>({ ...LINE.shape, from_status: text(({ move }) => move?.from) });

/** The checked insert of lines that also change the saga's row: it locks the row and compares its token and status. */
export function insertFencedLines(dialect: Dialect, moves: readonly Checkpoint[]): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${LINE.names}, created_at)
    select ${LINE_VALUES}, ${dialect.now()} from ${dialect.rows(FENCED_LINE, moves)}
    join ${dialect.table("saga_executions")} as c on c.id = r.saga_id and c.token = r.token and c.status || '' = r.from_status
    where c.status || '' in (${literals(OPEN)}) ${dialect.forUpdateOf("c")}
    on conflict do nothing returning saga_id, id, token`;
}

const FURTHER_LINE = fields<FurtherLine>({ ...LINE.shape, head: int(({ head }) => head) });

/** Inserts further lines only if the checkpoint's first line is there: that line is the fence of all. */
export function insertFurtherLines(dialect: Dialect, lines: readonly FurtherLine[]): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${LINE.names}, created_at)
    select ${LINE_VALUES}, ${dialect.now()} from ${dialect.rows(FURTHER_LINE, lines)}
    where exists (
      select 1 from ${dialect.table("saga_logs")} as l where l.saga_id = r.saga_id and l.id = r.head and l.token = r.token)
    on conflict do nothing`;
}

/** Inserts opening lines only for sagas that this flush created: an id may belong to another saga. */
export function insertOpenings(dialect: Dialect, lines: readonly Line[]): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${LINE.names}, created_at)
    select ${LINE_VALUES}, ${dialect.now()} from ${dialect.rows(LINE, lines)}
    where exists (select 1 from ${dialect.table("saga_executions")} as c where c.id = r.saga_id and c.token = r.token)
    on conflict do nothing`;
}

/** Finds the lines that an earlier commit of ours wrote, whose answer was lost. */
export function findLines(dialect: Dialect, lines: readonly Line[]): Sql {
  return sql`select l.saga_id, l.id, l.token from ${dialect.rows(LINE_KEY, lines)}
    join ${dialect.table("saga_logs")} as l on l.saga_id = r.saga_id and l.id = r.id and l.token = r.token`;
}

const WRITTEN = projection({ sagaId: text("saga_id"), version: int("id"), token: bigint("token") });

/** Names a line, and the claim under which it was written. */
export function lineName({ sagaId, version, token }: Pick<Line, "sagaId" | "version" | "token">): string {
  return `${sagaId}#${version}#${token}`;
}

/** The name of a line that was written or found. */
export function nameOfWritten(row: Row): string {
  return lineName(WRITTEN.read(row));
}
