/** The statements of publishing: events, which never change, and their deliveries. */
import type { Attributes } from "../../core/delivery/filter.ts";
import { ROUTED } from "../../core/delivery/machine.ts";
import { id, instant, json, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { table, type Table } from "../../storage/table.ts";

export interface NewEvent {
  /** The id of the event, as it was published. */
  readonly key: string;
  /** The type of the event. */
  readonly type: string;
  /** The values by which subscriptions can filter, as text. */
  readonly attributes: Attributes;
  /** The body that is sent, as JSON text. */
  readonly payload: string;
}

/** An event as it is stored. */
export interface StoredEvent extends NewEvent {
  /** The number of the event in the database. `key` is the id under which it was published. */
  readonly id: string;
  /** When the event was published, by the database's clock. */
  readonly createdAt: Date;
}

/** An event without its payload. */
export interface PublishedEvent extends Omit<NewEvent, "payload"> {
  readonly id: string;
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
}

export const PUBLISHED: Table<PublishedEvent> = table("webhook_events", {
  id: id("id"),
  key: text("event_key"),
  type: text("type"),
  attributes: json<Attributes>("attributes"),
  createdAt: instant("created_at"),
});

export const EVENT: Table<PublishedEvent & NewEvent> = table("webhook_events", {
  ...PUBLISHED.shape,
  payload: text("payload"),
});

/** Answers with nothing if the key exists. */
export function insertEvent(
  dialect: Dialect,
  { key, type, attributes, payload }: NewEvent,
  traceparent: string | undefined,
): Sql {
  return sql`insert into ${EVENT.of(dialect)} (event_key, type, attributes, payload, created_at, traceparent)
    values (${key}, ${type}, ${JSON.stringify(attributes)}, ${payload}, ${dialect.now()}, ${traceparent ?? null})
    on conflict (event_key) do nothing returning id`;
}

export function selectEvent(dialect: Dialect, key: string): Sql {
  return sql`select ${EVENT.columns(dialect)} from ${EVENT.of(dialect)} where event_key = ${key}`;
}

/** Without payloads, oldest first: what was published in a span of time. */
export function eventsBetween(
  dialect: Dialect,
  sinceMs: number,
  untilMs: number,
  afterId: string,
  limit: number,
): Sql {
  return sql`select ${PUBLISHED.columns(dialect)} from ${PUBLISHED.of(dialect)}
    where created_at >= ${dialect.instantOf(sinceMs)} and created_at < ${dialect.instantOf(untilMs)}
      and id > ${afterId}
    order by id limit ${limit}`;
}

/**
 * One new delivery for each routed subscription that wants the event; those that exist are left as they are. A new
 * delivery begins as the table says: a role that may publish can add none in another state.
 */
export function routeEvent(
  dialect: Dialect,
  eventId: string,
  patterns: readonly string[],
  pairs: readonly string[],
): Sql {
  const filters = dialect.table("webhook_subscription_filters");
  const passing = dialect.among(sql`g.attribute || '=' || g.value`, pairs);
  return sql`insert into ${dialect.table("webhook_delivery_sagas")}
      (event_id, subscription_id, next_attempt_at, created_at, updated_at)
    select cast(${eventId} as bigint), p.id, ${dialect.now()}, ${dialect.now()}, ${dialect.now()}
    from ${dialect.table("webhook_subscriptions")} as p
    where p.status in (${literals(ROUTED)})
      and p.id in (select t.subscription_id from ${dialect.table("webhook_subscription_types")} as t
        where ${dialect.among(raw("t.pattern"), patterns)})
      and not exists (select 1 from ${filters} as f where f.subscription_id = p.id and not exists (
        select 1 from ${filters} as g
        where g.subscription_id = p.id and g.attribute = f.attribute and ${passing}))
    on conflict do nothing`;
}
