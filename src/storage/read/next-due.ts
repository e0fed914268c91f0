/** When the next rows become due. */
import type { Dialect } from "../database.ts";
import { raw, sql, type Sql } from "../sql.ts";

/** Milliseconds from now until an instant, which may have passed; null without an instant. */
export function untilInstant(dialect: Dialect, instant: Sql): Sql {
  return sql`(${dialect.epochMs(instant)} - ${dialect.epochMs(dialect.now())})`;
}

/** The next instant after now at which a row of a table becomes due, in milliseconds since the epoch; null if none does. */
export function nextDueIn(dialect: Dialect, table: Sql, column: string, isOpen: Sql): Sql {
  return sql`(select ${dialect.epochMs(raw(`min(c.${column})`))} from ${table} as c
    where c.${raw(column)} > ${dialect.now()} and ${isOpen})`;
}
