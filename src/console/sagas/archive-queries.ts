/** What the console asks about archived sagas: the same walks as along those that ended lately, without their inputs. */
import { sagaMachine } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { SCAN_MAX, type SagaFilter } from "./queries.ts";

function columns(dialect: Dialect, alias: string): Sql {
  const instants = ["created_at", "updated_at", "archived_at"].map(
    (name) => sql`${dialect.epochMs(raw(`${alias}.${name}`))} as ${raw(name)}`,
  );
  const plain = raw(["id", "name", "status", "plan"].map((name) => `${alias}.${name}`).join(", "));
  return join([plain, ...instants], ", ");
}

/** Undefined where only states are wanted that no archived saga is in. */
export function listArchived(dialect: Dialect, filter: SagaFilter, limit: number): Sql | undefined {
  const { statuses, names, fromMs, toMs, after } = filter;
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
          ${after ? sql`and (c.updated_at, c.id) < (${dialect.instantOf(after.atMs)}, ${after.id})` : empty}
        ${newest("c")}) as walk`,
    ),
  );
  return sql`select ${columns(dialect, "u")} from (${join(walks, " union all ")}) as u ${newest("u")}`;
}

/** Archived sagas whose id begins like this, the last id first. */
export function listArchivedByPrefix(
  dialect: Dialect,
  prefix: string,
  { statuses, names, after }: SagaFilter,
  limit: number,
): Sql {
  const end = `${prefix}\u{10ffff}`;
  return sql`select ${columns(dialect, "p")} from (
      select * from ${dialect.table("saga_archive")} as c
      where c.id >= ${prefix} and c.id < ${after && after.id < end ? after.id : end}
      order by c.id desc, c.updated_at desc limit ${SCAN_MAX}) as p
    where p.status in (${literals(statuses)}) ${names ? sql`and ${dialect.among(raw("p.name"), names)}` : empty}
    order by p.id desc, p.updated_at desc limit ${limit}`;
}
