/** The statement on sagas that a person has paused one by one. */
import { OPEN } from "../../core/saga/machine.ts";
import { instant, json, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, literals, sql, type Sql } from "../../storage/sql.ts";
import { table, type Table } from "../../storage/table.ts";

interface PausedRow {
  readonly id: string;
  readonly name: string;
  readonly sinceMs: number;
  readonly note: { readonly reason: string; readonly by?: string };
}

export const PAUSED: Table<PausedRow> = table("saga_executions", {
  id: text("id"),
  name: text("name"),
  sinceMs: instant("paused_at"),
  note: json<PausedRow["note"]>("pause"),
});

/** The place of the last saga of the previous page. */
export type AfterPaused = readonly [sinceMs: number, id: string];

/** Open sagas, those that were paused first in front. */
export function listPaused(dialect: Dialect, after: AfterPaused | undefined, limit: number): Sql {
  const behind = after ? sql`and (c.paused_at, c.id) > (${dialect.instantOf(after[0])}, ${after[1]})` : empty;
  return sql`select ${PAUSED.columns(dialect, "c")} from ${PAUSED.of(dialect)} as c
    where c.paused_at is not null and c.status in (${literals(OPEN)}) ${behind}
    order by c.paused_at, c.id limit ${limit}`;
}
