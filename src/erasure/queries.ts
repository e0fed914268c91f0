/** The statements on what Amends itself keeps about subjects, and on the calendar. */
import type { Span } from "../core/erasure/period.ts";
import type { Dialect } from "../storage/database.ts";
import { raw, sql, type Sql } from "../storage/sql.ts";

/** An instant so much later or earlier, by the calendar: a month after the 31st of January is the last of February. */
export function shifted(dialect: Dialect, instant: Sql, { months, ms }: Span, sign: "+" | "-"): Sql {
  if (months === 0) return sql`(${dialect.plusMs(instant, sign === "+" ? ms : -ms)})`;
  const count = raw(String(months));
  return dialect.name === "postgres"
    ? sql`((${instant} at time zone 'UTC' ${raw(sign)} make_interval(months => ${count})) at time zone 'UTC')`
    : sql`cast(unixepoch((${instant}) / 1000.0, 'unixepoch', '${raw(sign)}${count} months', 'floor', 'subsec') * 1000 as integer)`;
}
