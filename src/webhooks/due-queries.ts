/** Whether there is anything to do. */
import type { Dialect } from "../storage/database.ts";
import { sql, type Sql } from "../storage/sql.ts";
import { anyJobDue } from "./jobs/queries.ts";
import { anythingDue } from "./orchestrator/queries.ts";

export function selectDue(dialect: Dialect): Sql {
  return sql`select case when ${anythingDue(dialect)} then 1 else 0 end as deliveries,
      case when ${anyJobDue(dialect)} then 1 else 0 end as jobs`;
}
