/** What has changed of sagas lately. It is asked once a second while a browser shows the console. */
import type { Dialect } from "../../storage/database.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";

/** How far the log of each saga has come, and the end of what its calls report: it holds the instant of the last report. */
export function selectVersions(dialect: Dialect, ids: readonly string[]): Sql {
  const progress = dialect.pick({
    postgres: raw("right(c.progress, 20)"),
    sqlite: raw("substr(c.progress, -20)"),
  });
  return sql`select v.saga_id, v.version, ${progress} as reported from (
      select l.saga_id, max(l.id) as version from ${dialect.table("saga_logs")} as l
      where ${dialect.among(raw("l.saga_id"), ids)} group by l.saga_id) as v
    left join ${dialect.table("saga_executions")} as c on c.id = v.saga_id`;
}
