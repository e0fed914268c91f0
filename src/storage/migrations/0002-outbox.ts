/** Everything that leaves the system: one table, told apart by kind. Steps put the events that they emit here. */
import type { Dialect } from "../database.ts";
import { oneOf, words } from "./ddl.ts";

export const OUTBOX_STATUSES = [
  "pending",
  "in_flight",
  "succeeded",
  "failed",
  "scheduled",
  "abandoned",
] as const;

export function outbox(dialect: Dialect): string[] {
  const { instant, uuid } = words(dialect);
  const table = dialect.table("outbox").text;
  return [
    `create table ${table} (
      entry_id ${uuid} primary key,
      kind text not null,
      name text not null,
      saga_id text,
      payload text,
      status text not null default 'pending' check (${oneOf("status", OUTBOX_STATUSES)}),
      attempts integer not null default 0,
      token integer not null default 0,
      enqueued_at ${instant} not null,
      last_attempt_at ${instant},
      next_attempt_at ${instant},
      last_error text
    )${dialect.name === "postgres" ? "" : " strict, without rowid"}`,
  ];
}
