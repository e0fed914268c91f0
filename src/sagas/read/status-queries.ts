/** The status of a saga, as an expression for the statements of other rooms. */
import type { Dialect } from "../../storage/database.ts";
import { sql, type Sql } from "../../storage/sql.ts";

/** Null if there is no such saga, or if retention has removed it. */
export function sagaStatus(dialect: Dialect, id: Sql): Sql {
  return sql`(select e.status from ${dialect.table("saga_executions")} as e where e.id = ${id})`;
}

/** The same of a saga that retention has archived. */
export function archivedStatus(dialect: Dialect, id: Sql): Sql {
  return sql`(select a.status from ${dialect.table("saga_archive")} as a where a.id = ${id} order by a.updated_at desc limit 1)`;
}
