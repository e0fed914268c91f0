/** Figures about webhooks. Each looks at a bounded number of rows along an index. */
import { OPEN, WAITING, type DeliveryStatus } from "../../core/delivery/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { nextDueIn } from "../../storage/read/next-due.ts";
import { activeIn, nextJobDue, oldestDueJob } from "../deliver/job-queries.ts";

/** The number of due deliveries that are checked for whether they may be sent. */
const LOOK_MAX = 50;

/**
 * Since when the oldest due delivery has waited: an instant, or null. Deliveries that wait for their turn, for a lane
 * that is full or pauses, or for a subscription that is paused or about to be disabled, are not due.
 */
export function oldestDue(dialect: Dialect): Sql {
  const walks = [oldestDueJob(dialect), ...WAITING.map((status) => dueDeliveries(dialect, status))];
  const each = walks.map((walk) => sql`select * from (${walk}) as walk`);
  return sql`(select min(u.since) from (${join(each, " union all ")}) as u)`;
}

function dueDeliveries(dialect: Dialect, status: DeliveryStatus): Sql {
  const deliveries = dialect.table("webhook_delivery_sagas");
  return sql`select d.since from (
      select s.id, s.subscription_id, s.next_attempt_at as since from ${deliveries} as s
      where s.status = ${literals([status])} and s.next_attempt_at <= ${dialect.now()}
      order by s.next_attempt_at limit ${LOOK_MAX}) as d
    join ${dialect.table("webhook_subscriptions")} as p on p.id = d.subscription_id
    left join ${dialect.table("webhook_lanes")} as n on n.subscription_id = d.subscription_id
    where p.status = 'Active' and (n.next_due_at is null or n.next_due_at <= ${dialect.now()})
      and n.disable_reason is null and ${activeIn(dialect, raw("d.subscription_id"))} = 0
      and not (p.ordered ${dialect.pick({ postgres: empty, sqlite: raw("= 1") })} and exists (select 1 from ${deliveries} as b
        where b.subscription_id = d.subscription_id and b.status in (${literals(OPEN)}) and b.id < d.id))`;
}

/** A text that is another one once a delivery or an attempt was made. */
export function changeSign(dialect: Dialect): Sql {
  // From the lowest id on: so each database sees that it needs only the end of the key.
  const newest = (table: Sql): Sql =>
    sql`coalesce(cast((select n.id from ${table} as n where n.id > 0 order by n.id desc limit 1) as text), '')`;
  return sql`${newest(dialect.table("webhook_delivery_sagas"))} || ' ' || ${newest(dialect.table("webhook_attempts"))}`;
}

/** When the next delivery, job or lane becomes due. */
export function nextWebhookDue(dialect: Dialect): Sql {
  const isOpen = sql`c.status in (${literals(OPEN)})`;
  const each = [
    nextDueIn(dialect, dialect.table("webhook_delivery_sagas"), "next_attempt_at", isOpen),
    nextDueIn(dialect, dialect.table("webhook_lanes"), "next_due_at", raw("true")),
    nextJobDue(dialect),
  ];
  return sql`(select min(u.at) from (${join(
    each.map((at) => sql`select ${at} as at`),
    " union all ",
  )}) as u)`;
}
