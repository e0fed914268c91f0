/** The statements on `event_handlers` for operators: lists, handlers that no process serves, and the end of a subscription. */
import type { SubscriptionKind } from "../../core/flow/subscription.ts";
import { backlogOf, hasBacklog } from "../../outbox/deliveries/handler-queries.ts";
import { instant, int, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";

const TABLE = "event_handlers";

/** A handler that no worker has kept alive for this long needs a person if something waits for it. */
export const UNSERVED_MS = 600_000;
/** A worker that runs keeps its handlers alive within this time. */
export const SERVED_MS = 75_000;

export interface StoredSubscription {
  readonly handler: string;
  readonly event: string;
  readonly kind: SubscriptionKind;
  readonly version: number;
  readonly saga: string | undefined;
  readonly step: string | undefined;
  readonly recipient: string;
  readonly registeredAt: number;
  readonly seenAt: number;
  readonly retiredAt: number | undefined;
  readonly nowAt: number;
  /** Counted up to a limit. */
  readonly backlog: number;
}

export const SUBSCRIPTION: Projection<StoredSubscription> = projection({
  handler: text("handler"),
  event: text("event"),
  kind: text<SubscriptionKind>("kind"),
  version: int("version"),
  saga: optional(text("saga")),
  step: optional(text("step")),
  recipient: text("recipient"),
  registeredAt: instant("registered_ms"),
  seenAt: instant("seen_ms"),
  retiredAt: optional(instant("retired_ms")),
  nowAt: instant("now_at"),
  backlog: int("backlog"),
});

function columns(dialect: Dialect, backlogMax: number): Sql {
  const at = (name: string): Sql => dialect.epochMs(raw(`h.${name}`));
  return sql`h.handler, h.event, h.kind, h.version, h.saga, h.step, h.recipient, ${at("registered_at")} as registered_ms,
    ${at("seen_at")} as seen_ms, ${at("retired_at")} as retired_ms, ${dialect.epochMs(dialect.now())} as now_at,
    ${backlogOf(dialect, backlogMax)} as backlog`;
}

export function listSubscriptions(dialect: Dialect, backlogMax: number, limit: number): Sql {
  return sql`select ${columns(dialect, backlogMax)} from ${dialect.table(TABLE)} as h order by h.handler, h.event limit ${limit}`;
}

/** The subscriptions of one handler: one for each event that it takes, or has taken. */
export function selectSubscriptions(dialect: Dialect, handler: string, backlogMax: number): Sql {
  return sql`select ${columns(dialect, backlogMax)} from ${dialect.table(TABLE)} as h where h.handler = ${handler} order by h.event`;
}

/** Handlers that no process serves, and for which something waits. */
export function unservedRows(dialect: Dialect): Selection {
  return {
    from: sql`${dialect.table(TABLE)} as h`,
    where: sql`${dialect.plusMs(raw("h.seen_at"), UNSERVED_MS)} <= ${dialect.now()} and ${hasBacklog(dialect)}`,
    at: raw("h.seen_at"),
    id: raw("h.handler || ' ' || h.event"),
    columns: columns(dialect, 1_000),
  };
}

/** Ends the subscriptions of a handler that no worker keeps alive. Returns their handlers; the note says who did it and why. */
export function retireSubscriptions(dialect: Dialect, handler: string, note: string): Sql {
  return sql`update ${dialect.table(TABLE)} set retired_at = coalesce(retired_at, ${dialect.now()}),
      notes = substr(notes, 1, length(notes) - 1) || case when notes = '[]' then '' else ',' end || ${note} || ']'
    where handler = ${handler} and (retired_at is not null or ${dialect.plusMs(raw("seen_at"), SERVED_MS)} <= ${dialect.now()})
    returning handler`;
}
