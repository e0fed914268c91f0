/** What a row belongs to, as a W3C traceparent, where whoever wrote it was traced: whatever it brings on goes on there. */
import type { Dialect } from "../database.ts";

export function traces(dialect: Dialect): string[] {
  const column = (table: string): string =>
    `alter table ${dialect.table(table).text} add column traceparent text`;
  const payloads = dialect.table("webhook_payloads").text;
  const view = `view ${payloads} as
      select id as event_id, event_key, type, payload, traceparent from ${dialect.table("webhook_events").text}`;
  return [
    column("outbox"),
    column("webhook_events"),
    // On PostgreSQL the view keeps its rights this way.
    ...(dialect.name === "postgres"
      ? [`create or replace ${view}`]
      : [`drop view ${payloads}`, `create ${view}`]),
  ];
}
