/**
 * The names that a person has paused: those of sagas, and those of calls. Claims, looks and figures ask for the name of a lane, so
 * that the rows of a paused name are not read at all. The table has as many rows as names are paused, mostly none.
 */
import { instant, optional, text } from "../column.ts";
import type { Dialect } from "../database.ts";
import { literals, raw, sql, type Sql } from "../sql.ts";
import { table, type Table } from "../table.ts";

/** The work that is claimed by names which can be paused. */
export type PausedQueue = "sagas" | "calls";

/** A paused name. */
export interface PausedName {
  readonly queue: PausedQueue;
  readonly name: string;
  readonly reason: string;
  readonly by: string | undefined;
  readonly sinceMs: number;
}

export const PAUSED_NAME: Table<PausedName> = table("pauses", {
  queue: text<PausedQueue>("queue"),
  name: text("name"),
  reason: text("reason"),
  by: optional(text("paused_by")),
  sinceMs: instant("paused_at"),
});

/** A condition: this name is paused. */
export function isPausedName(dialect: Dialect, queue: PausedQueue, name: Sql): Sql {
  return sql`exists (select 1 from ${dialect.table("pauses")} as p where p.queue = ${literals([queue])} and p.name = ${name})`;
}

/** The paused names of a queue as the text of a JSON list. */
export function pausedNames(dialect: Dialect, queue: PausedQueue): Sql {
  const list = raw(dialect.pick({ postgres: "json_agg", sqlite: "json_group_array" }));
  return sql`(select cast(coalesce(${list}(p.name), '[]') as text) from ${dialect.table("pauses")} as p where p.queue = ${literals([queue])})`;
}

/** The first pause of a name stays, with its reason. */
export function insertPause(dialect: Dialect, { queue, name, reason, by }: Omit<PausedName, "sinceMs">): Sql {
  return sql`insert into ${dialect.table("pauses")} (queue, name, reason, paused_by, paused_at)
    values (${queue}, ${name}, ${reason}, ${by ?? null}, ${dialect.now()}) on conflict (queue, name) do nothing`;
}

export function deletePause(dialect: Dialect, queue: PausedQueue, name: string): Sql {
  return sql`delete from ${dialect.table("pauses")} where queue = ${queue} and name = ${name} returning name`;
}

export function selectPause(dialect: Dialect, queue: PausedQueue, name: string): Sql {
  return sql`select ${PAUSED_NAME.columns(dialect)} from ${PAUSED_NAME.of(dialect)} where queue = ${queue} and name = ${name}`;
}

/** All paused names, those that were paused first in front. */
export function selectPauses(dialect: Dialect): Sql {
  return sql`select ${PAUSED_NAME.columns(dialect)} from ${PAUSED_NAME.of(dialect)} order by paused_at, queue, name`;
}
