/** The next instant after now at which a row of a table becomes due, in milliseconds since the epoch; null if none does. */
import type { Dialect } from "../database.ts";
import { raw, sql, type Sql } from "../sql.ts";

export function nextDueIn(dialect: Dialect, table: Sql, column: string, isOpen: Sql): Sql {
  return sql`(select ${dialect.epochMs(raw(`min(c.${column})`))} from ${table} as c
    where c.${raw(column)} > ${dialect.now()} and ${isOpen})`;
}
