/**
 * Step sagas. `saga_logs` is the truth: its rows add up to a saga's state, and their key (saga_id, id) is the
 * optimistic lock, because `id` is the version that the row made. `saga_executions` changes only when the status,
 * the owner or the gate does. There is no foreign key between them: it would lock the saga's row for every line.
 *
 * `saga_signals` holds the signals of a saga, numbered under the lock on the saga's row; it is append-only, and the
 * saga's log records which signals were received. The saga's row holds the number of signals and what an unclaimed
 * saga waits for: so a sender knows whether to wake it, and a saga that begins to wait detects a new signal in the
 * same update. `saga_interests` lists the events that a saga may wait for, from its start to its end.
 *
 * `progress` is what the calls under way have reported of how far they have come. Renewals of the lease write it.
 *
 * A saga with limits by key has them in `limits`, and its `kind` names them too: it waits in a lane of its own. What runs of a
 * concurrency key is counted along an index that holds only such sagas.
 *
 * A saga that a person has paused says since when in `paused_at`, and in `pause` why and who. Its `kind` has a sign more: it waits in
 * a lane that no claim names.
 *
 * A child saga has its parent's id and the parent's step; its end is sent to the parent as a signal. A saga that takes back a
 * completed one names it in `reverses`, and has a copy of its log.
 */
import { CLAIMABLE, sagaMachine } from "../../../core/saga/machine.ts";
import { PLAN_SIGNS } from "../../../core/saga/plan.ts";
import { PRIORITY_MAX } from "../../../core/start/controls.ts";
import { byPriority } from "../../claim.ts";
import { isState, oneOf, type Ddl } from "../ddl.ts";
import { sagaAttributes } from "./saga-attributes.ts";

export function sagas(ddl: Ddl): string[] {
  return [
    ...executions(ddl),
    ...sagaAttributes(ddl),
    ...kinds(ddl),
    ...logs(ddl),
    ...lost(ddl),
    ...signals(ddl),
    history(ddl),
  ];
}

function executions(ddl: Ddl): string[] {
  const { instant, bool, bigint, id, no, table, index, uniqueIndex, end, refuse } = ddl;
  const name = table("saga_executions");
  const ended = oneOf("status", sagaMachine.terminal);
  return [
    `create table ${name} (
      id ${id} primary key,
      name text not null,
      definition integer not null default 1,
      kind ${id} not null,
      status text not null check (${oneOf("status", sagaMachine.states)}),
      context text not null,
      plan text not null default '',
      begun ${bool} not null default ${no},
      version integer not null default 1 check (version >= 1),
      token ${bigint} not null default 0,
      owner text,
      recovery_attempts integer not null default 0 check (recovery_attempts >= 0),
      priority integer not null default 0 check (priority between 0 and ${PRIORITY_MAX}),
      next_attempt_at ${instant},
      last_attempt_at ${instant},
      run_at ${instant},
      deadline_at ${instant},
      attributes text,
      error text,
      error_label ${id},
      failing_at ${instant},
      excluded_at ${instant},
      paused_at ${instant},
      pause text,
      awaits text,
      progress text,
      signals integer not null default 0,
      parent_id ${id},
      parent_step text,
      reverses ${id},
      limits text,
      concurrency_key ${id},
      created_at ${instant} not null,
      updated_at ${instant} not null
    ${end("changing", "keyed")}`,
    index(
      "saga_executions_due",
      `${name} (kind, recovery_attempts, (${byPriority({ pick: ddl.pick })}), id) where ${oneOf("status", CLAIMABLE)}`,
    ),
    index(
      "saga_executions_stalled",
      `${name} (updated_at, id) where ${isState("status", sagaMachine, "STALLED")}`,
    ),
    index(
      "saga_executions_running",
      `${name} (name, concurrency_key, next_attempt_at) where concurrency_key is not null and owner is not null`,
    ),
    index("saga_executions_failing", `${name} (failing_at, id) where failing_at is not null`),
    index("saga_executions_paused", `${name} (paused_at, id) where paused_at is not null and not (${ended})`),
    index("saga_executions_excluded", `${name} (excluded_at, id) where excluded_at is not null`),
    // A step has one child, and a saga is taken back once. Most sagas are in neither index.
    uniqueIndex("saga_executions_child", `${name} (parent_id, parent_step) where parent_id is not null`),
    uniqueIndex("saga_executions_reversal", `${name} (reverses) where reverses is not null`),
    // For lists by name and state. It holds all sagas: a partial index of open ones would tempt planners to read all of it for the
    // few rows that a fence names.
    index("saga_executions_name", `${name} (name, status, updated_at, id)`),
    index(
      "saga_executions_error",
      `${name} (error_label, name, status, updated_at, id) where error_label is not null`,
    ),
    // For figures, and lists of every name. It holds only ended sagas, so each saga is written into it once, at its end.
    index("saga_executions_ended", `${name} (status, updated_at, id) where ${ended}`),
    ...refuse({
      name: "saga_executions_terminal",
      table: "saga_executions",
      on: "update",
      when: oneOf("old.status", sagaMachine.terminal),
      message: "amends: a saga that has ended never changes",
    }),
  ];
}

/** The kinds of sagas that workers can run, and when one last said so. */
function kinds({ instant, id, table, end }: Ddl): string[] {
  return [
    `create table ${table("saga_kinds")} (
      kind ${id} primary key,
      name text not null,
      definition integer not null,
      plan text not null,
      seen_at ${instant} not null
    ${end("keyed")}`,
  ];
}

function logs({ instant, bigint, id, table, end, refuse }: Ddl): string[] {
  return [
    `create table ${table("saga_logs")} (
      saga_id ${id} not null,
      id integer not null,
      token ${bigint} not null default 0,
      step_name text not null,
      action text not null check (${oneOf("action", ["act", "compensate"])}),
      status text not null check (${oneOf("status", ["STARTED", "COMPLETED", "FAILED"])}),
      details text,
      next_step text,
      next_action text,
      created_at ${instant} not null,
      primary key (saga_id, id)
    ${end("keyed")}`,
    ...refuse({
      name: "saga_logs_append_only",
      table: "saga_logs",
      on: "update",
      message: "amends: the log of a saga is only ever added to",
    }),
  ];
}

/** What the scan of the log has found: sagas that have lines and no row; and where its next pass begins. */
function lost({ instant, id, table, index, end }: Ddl): string[] {
  return [
    `create table ${table("lost_sagas")} (
      saga_id ${id} primary key,
      name text,
      found_at ${instant} not null
    ${end("keyed")}`,
    index("lost_sagas_found", `${table("lost_sagas")} (found_at, saga_id)`),
    `create table ${table("saga_log_scan")} (
      id integer primary key check (id = 1),
      position ${id} not null,
      passed_at ${instant} not null
    ${end()}`,
  ];
}

function signals({ instant, id, table, index, uniqueIndex, end, refuse }: Ddl): string[] {
  return [
    `create table ${table("saga_signals")} (
      saga_id ${id} not null,
      number integer not null check (number >= 1),
      name ${id} not null,
      dedupe_id ${id} not null,
      payload text,
      event_version integer,
      created_at ${instant} not null,
      primary key (saga_id, number)
    ${end("keyed")}`,
    uniqueIndex("saga_signals_once", `${table("saga_signals")} (saga_id, name, dedupe_id)`),
    ...refuse({
      name: "saga_signals_append_only",
      table: "saga_signals",
      on: "update",
      message: "amends: what was sent to a saga never changes",
    }),
    `create table ${table("saga_interests")} (
      event_type ${id} not null,
      field ${id} not null,
      value ${id} not null,
      saga_id ${id} not null,
      place integer not null,
      step_name ${id} not null,
      primary key (event_type, field, value, saga_id, place)
    ${end("keyed")}`,
    index("saga_interests_saga", `${table("saga_interests")} (saga_id)`),
  ];
}

/** A readable view: one line per start or end of a call, also if one row holds two. */
function history({ table, pick }: Ddl): string {
  const lines = table("saga_logs");
  const before = (text: string, sign: string): string =>
    pick({
      postgres: `split_part(${text}, '${sign}', 1)`,
      sqlite: `substr(${text}, 1, instr(${text} || '${sign}', '${sign}') - 1)`,
    });
  // The first step's name, without the signs of its kind and its wait.
  const first = `rtrim(${before(before(before("plan", " "), ":"), "/")}, '${PLAN_SIGNS}')`;
  return `create view ${table("saga_history")} as
      select saga_id, id, 0 as part, step_name, action, status, details, created_at from ${lines}
      union all
      select saga_id, id, 1, next_step, next_action, 'STARTED', null, created_at from ${lines} where next_step is not null
      union all
      select id, 1, 0, ${first}, 'act', 'STARTED', null, created_at from ${table("saga_executions")} where ${pick({ postgres: "begun", sqlite: "begun = 1" })}`;
}
