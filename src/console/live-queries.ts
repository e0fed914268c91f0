/** The one statement that live updates cost, once a second for all browsers together. */
import { OUTBOX_KINDS } from "../core/outbox/entry.ts";
import { CLAIMABLE, sagaMachine } from "../core/saga/machine.ts";
import type { Dialect } from "../storage/database.ts";
import { join, literals, raw, sql, type Sql } from "../storage/sql.ts";
import { inState, someOpen } from "./saga-queries.ts";

const LINE = ["id", "name", "status", "plan", "recovery_attempts", "created_at", "updated_at"];
const ENDED = sagaMachine.states.filter((state) => !CLAIMABLE.includes(state));
/** Of more open sagas than these, the changes of some are not told: whoever looks at one watches it. */
const OPEN_MAX = 1_000;

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
  const columns = (of: string): Sql => raw(LINE.map((name) => `${of}.${name}`).join(", "));
  const recent = (of: string): Sql =>
    sql`${raw(of)}.updated_at > ${dialect.instantOf(sinceMs)} order by ${raw(of)}.updated_at desc, ${raw(of)}.id desc limit ${changes}`;
  const walks = ENDED.map(
    (status) =>
      sql`select * from (select ${columns("c")} from ${table} as c where ${inState(status)} and ${recent("c")}) as walk`,
  );
  walks.push(
    sql`select * from (select ${columns("d")} from ${someOpen(dialect, OPEN_MAX)} as d where ${recent("d")}) as walk`,
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
