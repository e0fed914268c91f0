/**
 * How long the oldest work of each part has been due, without what waits for good reason: its turn behind another one,
 * a lane that is full or has to pause, a subscription that somebody paused. Each looks at the first few and no further.
 */
import { ACTIVE, OPEN, WAITING } from "../core/delivery/machine.ts";
import { CLAIMABLE } from "../core/outbox/machine.ts";
import { CLAIMABLE as CLAIMABLE_SAGAS } from "../core/saga/machine.ts";
import { freshFirst, gate } from "../storage/claim.ts";
import type { Dialect } from "../storage/database.ts";
import { join, literals, raw, sql, type Sql } from "../storage/sql.ts";

/**
 * What is due and how long it has been. The index of due sagas begins with the number of recoveries: each number is
 * looked up by itself. Budgets end far below the highest.
 */
export function selectDueSagas(dialect: Dialect, max: number): Sql {
  const due = sql`from ${dialect.table("saga_executions")} as c
    where c.status in (${literals(CLAIMABLE_SAGAS)}) and c.recovery_attempts = r.n
      and ${gate(dialect, raw("c.next_attempt_at"))} <= ${dialect.now()}
    order by ${gate(dialect, raw("c.next_attempt_at"))}, c.id`;
  const numbers = dialect.rows(
    [{ name: "n", type: "int" }],
    Array.from({ length: RECOVERIES_MAX }, (_, n) => [n]),
  );
  const waiting = dialect.epochMs(raw("coalesce(c.next_attempt_at, c.created_at)"));
  return sql`select (select ${waiting} ${due} limit 1) as since,
      (select count(*) from (select 1 ${due} limit ${max + 1}) as counted) as due,
      ${dialect.epochMs(dialect.now())} as now_at from ${numbers}`;
}

const RECOVERIES_MAX = 100;

export type DuePart = "outbox" | "events" | "webhooks";

const LOOK_MAX = 50;

/** One row per part: `since` is null where nothing is due. */
export function selectDueParts(dialect: Dialect): Sql {
  const parts: Readonly<Record<DuePart, Sql>> = {
    outbox: oldest(["erasure", "call"].flatMap((kind) => dueEntries(dialect, kind, raw("true")))),
    events: oldest(dueEntries(dialect, "delivery", inTurn(dialect))),
    webhooks: oldest([dueJobs(dialect), ...WAITING.map((status) => dueDeliveries(dialect, status))]),
  };
  const rows = Object.entries(parts).map(
    ([part, since]) =>
      sql`select ${literals([part])} as part, ${dialect.epochMs(since)} as since, ${dialect.epochMs(dialect.now())} as now_at`,
  );
  return join(rows, " union all ");
}

function oldest(walks: readonly Sql[]): Sql {
  const each = walks.map((walk) => sql`select * from (${walk}) as walk`);
  return sql`(select min(u.since) from (${join(each, " union all ")}) as u)`;
}

/** Fresh ones and those that were tried have each a stretch of the index. */
function dueEntries(dialect: Dialect, kind: string, fits: Sql): readonly Sql[] {
  const dueAt = gate(dialect, raw("c.next_attempt_at"));
  return ["0", "1"].map(
    (rank) => sql`select d.since from (
        select c.entry_id, c.handler, c.correlation, coalesce(c.next_attempt_at, c.enqueued_at) as since
        from ${dialect.table("outbox")} as c
        where c.kind = ${literals([kind])} and ${raw(freshFirst("c.attempts"))} = ${raw(rank)}
          and c.status in (${literals(CLAIMABLE)}) and ${dueAt} <= ${dialect.now()}
        order by ${dueAt}, c.entry_id limit ${LOOK_MAX}) as d where ${fits}`,
  );
}

function inTurn(dialect: Dialect): Sql {
  return sql`(d.correlation is null or not exists (select 1 from ${dialect.table("outbox")} as b
    where b.handler = d.handler and b.correlation = d.correlation and b.entry_id < d.entry_id
      and b.status in (${literals(CLAIMABLE)})))`;
}

function dueJobs(dialect: Dialect): Sql {
  const dueAt = gate(dialect, raw("j.next_attempt_at"));
  return sql`select coalesce(j.next_attempt_at, j.created_at) as since from ${dialect.table("webhook_jobs")} as j
    where j.status in (${literals(ACTIVE)}) and ${dueAt} <= ${dialect.now()} order by ${dueAt}, j.id limit 1`;
}

function dueDeliveries(dialect: Dialect, status: string): Sql {
  const deliveries = dialect.table("webhook_delivery_sagas");
  return sql`select d.since from (
      select s.id, s.subscription_id, s.next_attempt_at as since from ${deliveries} as s
      where s.status = ${literals([status])} and s.next_attempt_at <= ${dialect.now()}
      order by s.next_attempt_at limit ${LOOK_MAX}) as d
    join ${dialect.table("webhook_subscriptions")} as p on p.id = d.subscription_id
    left join ${dialect.table("webhook_lanes")} as n on n.subscription_id = d.subscription_id
    where p.status = 'Active' and (n.next_due_at is null or n.next_due_at <= ${dialect.now()})
      and not exists (select 1 from ${dialect.table("webhook_jobs")} as j
        where j.subscription_id = d.subscription_id and j.finished_at is null)
      and not (p.ordered ${raw(dialect.name === "postgres" ? "" : "= 1")} and exists (select 1 from ${deliveries} as b
        where b.subscription_id = d.subscription_id and b.status in (${literals(OPEN)}) and b.id < d.id))`;
}
