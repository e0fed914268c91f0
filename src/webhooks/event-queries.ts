/** The statements on events: written once, never changed. */
import type { Dialect, Row } from "../storage/database.ts";
import type { Attributes } from "../core/delivery/filter.ts";
import { raw, sql, type Sql } from "../storage/sql.ts";

export interface NewEvent {
  readonly key: string;
  readonly type: string;
  readonly attributes: Attributes;
  readonly payload: string;
}

/** Answers with nothing where the key exists. */
export function insertEvent(
  dialect: Dialect,
  { key, type, attributes, payload }: NewEvent,
  traceparent: string | undefined,
): Sql {
  return sql`insert into ${dialect.table("webhook_events")} (event_key, type, attributes, payload, created_at, traceparent)
    values (${key}, ${type}, ${JSON.stringify(attributes)}, ${payload}, ${dialect.now()}, ${traceparent ?? null})
    on conflict (event_key) do nothing returning id`;
}

const columns = (dialect: Dialect): Sql =>
  sql`id, event_key, type, attributes, payload, ${dialect.epochMs(raw("created_at"))} as created_at`;

export function selectEvent(dialect: Dialect, key: string): Sql {
  return sql`select ${columns(dialect)} from ${dialect.table("webhook_events")} where event_key = ${key}`;
}

/** Without payloads, oldest first: whatever was published in a span of time. */
export function eventsBetween(
  dialect: Dialect,
  sinceMs: number,
  untilMs: number,
  afterId: string,
  limit: number,
): Sql {
  return sql`select id, event_key, type, attributes, ${dialect.epochMs(raw("created_at"))} as created_at
    from ${dialect.table("webhook_events")}
    where created_at >= ${dialect.instantOf(sinceMs)} and created_at < ${dialect.instantOf(untilMs)}
      and id > ${afterId}
    order by id limit ${limit}`;
}

export interface StoredEvent extends NewEvent {
  readonly id: string;
  readonly createdAt: Date;
}

export function toEvent(row: Row): StoredEvent {
  return {
    id: String(row["id"]),
    key: row["event_key"] as string,
    type: row["type"] as string,
    attributes: JSON.parse(row["attributes"] as string) as Attributes,
    payload: row["payload"] as string,
    createdAt: new Date(Number(row["created_at"])),
  };
}
