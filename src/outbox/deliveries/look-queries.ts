/** What a worker's look reads of deliveries and of events that were not routed yet. */
import { CLAIMABLE } from "../../core/outbox/machine.ts";
import { gate } from "../../storage/claim.ts";
import { text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { leastOfLanes } from "../../storage/lanes.ts";
import { untilInstant } from "../../storage/read/next-due.ts";
import { join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { firstOfEach } from "../look-queries.ts";
import type { KnownEvents } from "./claim-queries.ts";

/** The unrouted events of one type that are read: the claim looks itself if there are more. */
const UNROUTED_MAX = 50;

const ROUTABLE = fields<string>({
  routable: text((one) => one),
  name: text((one) => one.slice(0, one.lastIndexOf("@"))),
});

/** The milliseconds until the first delivery or event may be claimed; null if there is none. */
export function untilDeliveryDue(dialect: Dialect, { deliverable, routable }: KnownEvents): Sql {
  const known = [
    ...(deliverable.length > 0
      ? [leastOfLanes(dialect, { names: deliverable }, firstOfEach(dialect, "delivery"))]
      : []),
    ...(routable.length > 0 ? [firstUnrouted(dialect, routable)] : []),
  ];
  const each = known.map((one) => sql`select ${one} as gate`);
  return untilInstant(dialect, sql`(select min(firsts.gate) from (${join(each, " union all ")}) as firsts)`);
}

/** The first gate of an event that has no delivery yet. */
function firstUnrouted(dialect: Dialect, routable: readonly string[]): Sql {
  const max = raw(String(UNROUTED_MAX));
  const open = sql`select ${gate(dialect, raw("due.next_attempt_at"))} as gate from ${dialect.table("outbox")} as due
    where due.event_id is not null and due.handler is null and due.status in (${literals(CLAIMABLE)})
      and due.name = r.name and due.name || '@' || due.event_version = r.routable
    order by due.entry_id limit ${max}`;
  const first = sql`(select case when count(*) < ${max} then min(first.gate) else ${dialect.now()} end from (${open}) as first)`;
  return sql`(select min(firsts.gate) from (select ${first} as gate from ${dialect.rows(ROUTABLE, routable)}) as firsts)`;
}
