/** What time it is, by the clock that decides: the database's, or the test kit's in its place. */
import type { Dialect } from "./database.ts";
import { sql, type Sql } from "./sql.ts";

export function selectNow(dialect: Dialect): Sql {
  return sql`select ${dialect.epochMs(dialect.now())} as now_at`;
}
