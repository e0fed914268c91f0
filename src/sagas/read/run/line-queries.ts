/** What a list reads of the logs of sagas. */
import type { Direction } from "../../../core/identity.ts";
import { optional, text } from "../../../storage/column.ts";
import type { Dialect } from "../../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../../storage/sql.ts";
import { projection, type Projection } from "../../../storage/table.ts";
import { DETAILED, type LoggedLine } from "./lines.ts";

export const LOGGED: Projection<LoggedLine> = projection({
  sagaId: text("saga_id"),
  step: text("step_name"),
  action: text<Direction>("action"),
  status: text("status"),
  nextStep: optional(text("next_step")),
  nextAction: optional(text<Direction>("next_action")),
  details: optional(text("details")),
});

/** No results, and no details but of failed calls and of the control lines that need them. */
export function selectRunLines(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select l.saga_id, l.step_name, l.action, l.status, l.next_step, l.next_action,
      case when l.status = 'FAILED' or l.step_name in (${literals(DETAILED)}) then l.details end as details
    from ${dialect.table("saga_logs")} as l where ${dialect.among(raw("l.saga_id"), ids)} order by l.saga_id, l.id`;
}
