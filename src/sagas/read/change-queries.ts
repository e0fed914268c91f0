/** What has changed of sagas lately. It is asked once a second while a browser shows the console. */
import { CLAIMABLE, sagaMachine } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { join, raw, sql, type Sql } from "../../storage/sql.ts";
import { inState, someOpen } from "./list-queries.ts";
import { LINE_NAMES, lineColumns } from "./summary.ts";

const CLOSED = sagaMachine.states.filter((state) => !CLAIMABLE.includes(state));
/** If more sagas are open, the changes of some are missed: a page of one saga asks for its version instead. */
const OPEN_MAX = 1_000;

/** Sagas that changed after an instant, up to `limit` of each state. */
export function listChanged(dialect: Dialect, sinceMs: number, limit: number): Sql {
  const columns = (of: string): Sql => raw(LINE_NAMES.map((name) => `${of}.${name}`).join(", "));
  const recent = (of: string): Sql =>
    sql`${raw(of)}.updated_at > ${dialect.instantOf(sinceMs)} order by ${raw(of)}.updated_at desc, ${raw(of)}.id desc limit ${limit}`;
  const walks = CLOSED.map(
    (status) =>
      sql`select * from (select ${columns("c")} from ${dialect.table("saga_executions")} as c where ${inState(status)} and ${recent("c")}) as walk`,
  );
  walks.push(
    sql`select * from (select ${columns("d")} from ${someOpen(dialect, OPEN_MAX)} as d where ${recent("d")}) as walk`,
  );
  return sql`select ${lineColumns(dialect, "u")} from (${join(walks, " union all ")}) as u
    order by u.updated_at desc, u.id desc`;
}

/** How far the log of each saga has come. */
export function selectVersions(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select l.saga_id, max(l.id) as version from ${dialect.table("saga_logs")} as l
    where ${dialect.among(raw("l.saga_id"), ids)} group by l.saga_id`;
}
