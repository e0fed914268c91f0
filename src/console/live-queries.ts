/** The one statement that live updates cost, once a second for all browsers together. */
import { OUTBOX_KINDS } from "../core/outbox/entry.ts";
import { sagaMachine } from "../core/saga/machine.ts";
import type { Dialect } from "../storage/database.ts";
import { join, literals, raw, sql, type Sql } from "../storage/sql.ts";

/**
 * Sagas that changed since an instant, how many are stalled or abandoned, and how far those have come that somebody watches. Each
 * kind of row says in `what` which of the three it is.
 */
export function selectNews(
  dialect: Dialect,
  sinceMs: number,
  watched: readonly string[],
  { changes, stalled }: { readonly changes: number; readonly stalled: number },
): Sql {
  const table = dialect.table("saga_executions");
  const logs = dialect.table("saga_logs");
  const none = raw(
    "null as name, null as status, null as plan, null as recovery_attempts, null as created_at",
  );
  const walks = sagaMachine.states.map(
    (
      status,
    ) => sql`select * from (select c.id, c.name, c.status, c.plan, c.recovery_attempts, c.created_at, c.updated_at
      from ${table} as c where c.status = ${literals([status])} and c.updated_at > ${dialect.instantOf(sinceMs)}
      order by c.updated_at desc, c.id desc limit ${changes}) as walk`,
  );
  const [created, updated] = ["created_at", "updated_at"].map((name) => dialect.epochMs(raw(`u.${name}`)));
  const changed = sql`select 'saga' as what, u.id, u.name, u.status, u.plan, u.recovery_attempts,
      ${created} as created_at, ${updated} as updated_at, 0 as number
    from (${join(walks, " union all ")}) as u`;
  const counted = sql`select 'stalled' as what, '' as id, ${none}, ${dialect.epochMs(dialect.now())} as updated_at,
      (select count(*) from (select 1 from ${table} as c where c.status = 'STALLED' limit ${stalled}) as counted)
        + (select count(*) from (select 1 from ${dialect.table("outbox")} as c
          where c.status = 'abandoned' and c.kind in (${literals(OUTBOX_KINDS)}) limit ${stalled}) as counted) as number`;
  const versions = sql`select 'watched' as what, l.saga_id as id, ${none}, null as updated_at, max(l.id) as number
    from ${logs} as l where ${dialect.among(raw("l.saga_id"), watched)} group by l.saga_id`;
  return join([changed, counted, ...(watched.length > 0 ? [versions] : [])], " union all ");
}
