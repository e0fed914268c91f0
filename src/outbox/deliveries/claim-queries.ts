/** The claim of deliveries, its renewal, and queries on single claims. */
import { CLAIMABLE, HELD, outboxMachine, type OutboxStatus } from "../../core/outbox/machine.ts";
import {
  claimStatement,
  freshFirst,
  renewStatement,
  type Claimable,
  type RowClass,
} from "../../storage/claim.ts";
import { bigint, flag, text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { HAS_LANE, HELD_ROWS, idRows, OUTBOX } from "../queries.ts";
import { DELIVERY, type DeliveryClaim } from "./row.ts";

export const CLAIMED: OutboxStatus = outboxMachine.target("pending", "claim") as OutboxStatus;

/** The handlers and events of a process. */
export interface KnownEvents {
  /** As `handler@version`, the one that is served first in front. */
  readonly deliverable: readonly string[];
  /** As `name@version`. */
  readonly routable: readonly string[];
}

/** Fresh deliveries first, then retries, then unrouted events. */
function deliveries(dialect: Dialect, { deliverable, routable }: KnownEvents): Claimable {
  const lanes = { column: raw("due.lane"), names: deliverable };
  // An earlier delivery of the same correlation to the same handler must have ended.
  const isFirst = sql`(due.correlation is null or not exists (
    select 1 from ${dialect.table("outbox")} as b where b.handler = due.handler and b.correlation = due.correlation
      and b.entry_id < due.entry_id and b.status in (${literals(CLAIMABLE)})))`;
  const ofClass = (rowClass: string): RowClass => ({
    where: sql`due.kind = 'delivery' and ${HAS_LANE} and ${raw(freshFirst("due.attempts"))} = ${raw(rowClass)} and ${isFirst}`,
    lanes,
  });
  const names = [...new Set(routable.map((one) => one.slice(0, one.lastIndexOf("@"))))];
  const unrouted = sql`due.event_id is not null and due.handler is null and ${dialect.among(raw("due.name"), names)}
    and ${dialect.among(sql`due.name || '@' || due.event_version`, routable)}`;
  return { ...OUTBOX, classes: [ofClass("0"), ofClass("1"), { where: unrouted }] };
}

/** Returns `CLAIMED_DELIVERY` rows. `place` is an expression over the claimed row, whose columns have no alias. */
export function claimDeliveries(
  dialect: Dialect,
  known: KnownEvents,
  limit: number,
  leaseMs: number,
  except: readonly string[] = [],
  place: Sql = raw("null"),
): Sql {
  return claimStatement(dialect, deliveries(dialect, known), {
    limit,
    leaseMs,
    except,
    where: raw("true"),
    set: sql`status = ${literals([CLAIMED])}, attempts = c.attempts + 1`,
    returning: sql`${DELIVERY.columns(dialect)}, answer, lane, ${place} as place`,
  });
}

/** Returns the ids of the claims that still hold. */
export function renewDeliveries(dialect: Dialect, held: readonly DeliveryClaim[], leaseMs: number): Sql {
  return renewStatement(dialect, HELD_ROWS, held, leaseMs, raw("entry_id"));
}

/** Finds a claim that still holds. */
export function selectHeld(dialect: Dialect, { id, token }: DeliveryClaim): Sql {
  return sql`select entry_id from ${dialect.table("outbox")}
    where entry_id = ${id} and token = ${token} and status || '' in (${literals(HELD)})`;
}

/** Finds a settled claim: its token is the latest, and the row is not claimed. */
export function selectSettled(dialect: Dialect, { id, token }: DeliveryClaim): Sql {
  return sql`select entry_id from ${dialect.table("outbox")}
    where entry_id = ${id} and token = ${token} and status not in (${literals(HELD)})`;
}

/** The delivery that a run waits for. */
export interface AwaitedDelivery extends DeliveryClaim {
  readonly status: OutboxStatus;
  /** A process works on it now. */
  readonly isLeased: boolean;
}

export const AWAITED: Projection<AwaitedDelivery> = projection({
  id: uuid("entry_id"),
  token: bigint("token"),
  status: text<OutboxStatus>("status"),
  isLeased: flag("leased"),
});

/** Of the rows that were sent for a run, all deliveries to this handler, as `DELIVERY` rows. */
export function selectSent(dialect: Dialect, trail: readonly string[], handler: string): Sql {
  return sql`select ${DELIVERY.columns(dialect, "c")}
    from ${idRows(dialect, trail)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id
    where c.handler = ${handler} order by c.entry_id`;
}

/** Of the rows that were sent for a run, the newest open delivery to this handler. */
export function selectAwaited(dialect: Dialect, trail: readonly string[], handler: string): Sql {
  return sql`select c.entry_id, c.token, c.status,
      case when c.next_attempt_at > ${dialect.now()} then 1 else 0 end as leased
    from ${idRows(dialect, trail)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id
    where c.handler = ${handler} and c.status || '' in (${literals(outboxMachine.sources("supersede"))})
    order by c.entry_id desc limit 1`;
}
