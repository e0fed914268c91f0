/**
 * The sagas over events. `saga_state` has one row per run of a process, and at most one of them is open; its
 * `trail` names the rows of the outbox that were written for it, so that the outbox needs no index by run. `notes`
 * holds operator actions with their reasons. `event_handlers` has one row for each handler that a worker has registered for an
 * event: the publisher of the event writes a delivery for each of them, under the name `recipient`.
 */
import { flowMachine, OPEN_FLOWS } from "../../../core/flow/machine.ts";
import { SUBSCRIPTION_KINDS } from "../../../core/flow/subscription.ts";
import { isState, oneOf, type Ddl } from "../ddl.ts";

export function events(ddl: Ddl): string[] {
  const { instant, uuid, id, table, index, uniqueIndex, end, refuse } = ddl;
  const name = table("saga_state");
  return [
    ...handlers(ddl),
    `create table ${name} (
      saga_id ${id} not null unique,
      saga_type ${id} not null,
      process_id ${id} not null,
      run integer not null default 1 check (run >= 1),
      status text not null check (${oneOf("status", flowMachine.states)}),
      current_step integer not null default 0,
      completed_steps text not null default '[]',
      undo_steps text not null default '[]',
      late_steps text not null default '[]',
      answers text not null default '{}',
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
    ${end("changing")}`,
    uniqueIndex("saga_state_open", `${name} (saga_type, process_id) where ${oneOf("status", OPEN_FLOWS)}`),
    index("saga_state_due", `${name} (due_at, saga_id) where due_at is not null`),
    index(
      "saga_state_stalled",
      `${name} (rested_at, saga_id) where ${isState("status", flowMachine, "stalled")}`,
    ),
    // For lists, figures and retention; each run is written into it once, at its end.
    index(
      "saga_state_ended",
      `${name} (status, rested_at, saga_id) where ${oneOf("status", flowMachine.terminal)}`,
    ),
    ...refuse({
      name: "saga_state_terminal",
      table: "saga_state",
      on: "update",
      when: oneOf("old.status", flowMachine.terminal),
      message: "amends: a run that has ended never changes",
    }),
  ];
}

/** A handler of a step is reached through its saga: its `recipient` is the saga's, and a process that has the saga opens the run. */
function handlers({ instant, bigint, id, table, end }: Ddl): string[] {
  return [
    `create table ${table("event_handlers")} (
      event text not null,
      handler ${id} not null,
      kind text not null check (${oneOf("kind", SUBSCRIPTION_KINDS)}),
      version integer not null,
      saga ${id},
      step text,
      recipient ${id} not null,
      hash ${bigint} not null,
      registered_at ${instant} not null,
      seen_at ${instant} not null,
      retired_at ${instant},
      notes text not null default '[]',
      primary key (event, handler)
    ${end("changing", "keyed")}`,
  ];
}
