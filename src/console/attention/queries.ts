/** How much needs a person: each kind has an index of just that, and is counted no further than a bound. */
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import type { Dialect } from "../../storage/database.ts";
import { join, literals, sql, type Sql } from "../../storage/sql.ts";

/** An expression: stalled sagas and flows, abandoned entries, open dead letters and disabled subscriptions. */
export function attentionCount(dialect: Dialect, max: number): Sql {
  const kinds: readonly (readonly [table: string, where: Sql])[] = [
    ["saga_executions", sql`c.status = 'STALLED'`],
    ["outbox", sql`c.status = 'abandoned' and c.kind in (${literals(OUTBOX_KINDS)})`],
    ["saga_state", sql`c.status = 'stalled'`],
    ["dead_letters", sql`c.status = 'Open'`],
    ["webhook_subscriptions", sql`c.status = 'Disabled'`],
  ];
  const counts = kinds.map(
    ([table, where]) =>
      sql`(select count(*) from (select 1 from ${dialect.table(table)} as c where ${where} limit ${max}) as counted)`,
  );
  return sql`(${join(counts, " + ")})`;
}

export function countAttention(dialect: Dialect, max: number): Sql {
  return sql`select ${attentionCount(dialect, max)} as number`;
}
