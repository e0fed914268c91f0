/** Lists of archived sagas: the same walks as along the ended ones, without their inputs. */
import { sagaMachine } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { SCAN_MAX } from "./list-queries.ts";
import { archivedColumns } from "./line-queries.ts";
import type { SagaRange } from "./walk-queries.ts";

/** Undefined where no archived saga can be in one of the states. */
export function listArchived(dialect: Dialect, range: SagaRange, limit: number): Sql | undefined {
  const { statuses, names, fromMs, toMs, after } = range;
  const ended = statuses.filter((status) => sagaMachine.terminal.includes(status));
  if (ended.length === 0) return undefined;
  const newest = (of: string): Sql =>
    sql`order by ${raw(of)}.updated_at desc, ${raw(of)}.id desc limit ${limit}`;
  const walks = ended.flatMap((status) =>
    (names ?? [undefined]).map(
      (name) => sql`select * from (select * from ${dialect.table("saga_archive")} as c
        where c.status = ${literals([status])} ${name === undefined ? empty : sql`and c.name = ${name}`}
          ${fromMs === undefined ? empty : sql`and c.updated_at >= ${dialect.instantOf(fromMs)}`}
          ${toMs === undefined ? empty : sql`and c.updated_at < ${dialect.instantOf(toMs)}`}
          ${after ? sql`and (c.updated_at, c.id) < (${dialect.instantOf(after[0])}, ${after[1]})` : empty}
        ${newest("c")}) as walk`,
    ),
  );
  return sql`select ${archivedColumns(dialect, "u")} from (${join(walks, " union all ")}) as u ${newest("u")}`;
}

/** Archived sagas whose id begins with the prefix, the last id first. */
export function listArchivedByPrefix(
  dialect: Dialect,
  prefix: string,
  { statuses, names, after }: SagaRange,
  limit: number,
): Sql {
  const end = `${prefix}\u{10ffff}`;
  return sql`select ${archivedColumns(dialect, "p")} from (
      select * from ${dialect.table("saga_archive")} as c
      where c.id >= ${prefix} and c.id < ${after && after[1] < end ? after[1] : end}
      order by c.id desc, c.updated_at desc limit ${SCAN_MAX}) as p
    where p.status in (${literals(statuses)}) ${names ? sql`and ${dialect.among(raw("p.name"), names)}` : empty}
    order by p.id desc, p.updated_at desc limit ${limit}`;
}
