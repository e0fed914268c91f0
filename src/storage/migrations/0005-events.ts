/**
 * Events and the sagas over them. In the outbox a row of kind `event` is an event that nobody has routed yet, and one
 * of kind `delivery` is one event on its way to one handler; `entry_id` is made from the two, so that the primary key
 * books each pair once. `saga_state` has one row per run of a process, and at most one of them is open; its `trail`
 * names the rows of the outbox that were written for it, so that the outbox needs no index by run.
 */
import { CLAIMABLE } from "../../core/outbox/machine.ts";
import { flowMachine, OPEN_FLOWS } from "../../core/flow/machine.ts";
import type { Dialect } from "../database.ts";
import { indexName, oneOf, refuse, words } from "./ddl.ts";

export function events(dialect: Dialect): string[] {
  const { instant, uuid, id } = words(dialect);
  const isPostgres = dialect.name === "postgres";
  const outbox = dialect.table("outbox").text;
  const state = dialect.table("saga_state").text;
  const index = (name: string): string => indexName(dialect, name);
  const column = (name: string, type: string): string => `alter table ${outbox} add column ${name} ${type}`;
  return [
    column("event_id", uuid),
    column("event_version", "integer"),
    column("handler", id),
    column("correlation", id),
    column("causation", uuid),
    // What people did to it and why.
    column("notes", "text"),
    // Whoever has handlers looks for the events that they take by name, and walks over nobody else's.
    `create index ${index("outbox_unrouted")} on ${outbox} (name, entry_id) where event_id is not null and handler is null and ${oneOf("status", CLAIMABLE)}`,
    // What came before in the same process waits or runs: then the next one waits, too.
    `create index ${index("outbox_order")} on ${outbox} (handler, correlation, entry_id) where handler is not null and correlation is not null and ${oneOf("status", CLAIMABLE)}`,
    `create table ${state} (
      saga_id ${id} not null unique,
      saga_type ${id} not null,
      process_id ${id} not null,
      run integer not null default 1 check (run >= 1),
      status text not null check (${oneOf("status", flowMachine.states)}),
      current_step integer not null default 0,
      completed_steps text not null default '[]',
      undo_steps text not null default '[]',
      late_step text,
      error text,
      error_label text,
      version integer not null default 1,
      trigger_id ${uuid} not null,
      trail text not null,
      deadline_at ${instant},
      due_at ${instant},
      notes text not null default '[]',
      started_at ${instant} not null,
      updated_at ${instant} not null,
      rested_at ${instant},
      primary key (saga_type, process_id, run)
    )${isPostgres ? " with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)" : " strict"}`,
    `create unique index ${index("saga_state_open")} on ${state} (saga_type, process_id) where ${oneOf("status", OPEN_FLOWS)}`,
    `create index ${index("saga_state_due")} on ${state} (due_at, saga_id) where due_at is not null`,
    `create index ${index("saga_state_stalled")} on ${state} (rested_at, saga_id) where status = 'stalled'`,
    ...refuse(dialect, {
      name: "saga_state_terminal",
      table: "saga_state",
      on: "update",
      when: oneOf("old.status", flowMachine.terminal),
      message: "amends: a run that has ended never changes",
    }),
  ];
}
