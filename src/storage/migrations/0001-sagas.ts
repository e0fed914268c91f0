/**
 * Step sagas. `saga_logs` is the truth: its rows add up to a saga's state, and their key (saga_id, id) is the
 * optimistic lock, because `id` is the version that the row made. `saga_executions` changes only when the status,
 * the owner or the gate does. There is no foreign key between them: it would lock the saga's row for every line.
 */
import { CLAIMABLE, sagaMachine } from "../../core/saga/machine.ts";
import { PLAN_SIGNS } from "../../core/saga/plan.ts";
import type { Dialect } from "../database.ts";
import { REFUSED_STATE } from "../postgres/trouble.ts";
import { indexName, oneOf, refuse, words } from "./ddl.ts";

export function sagas(dialect: Dialect): string[] {
  const { instant, bool, gate, id, bigint } = words(dialect);
  const executions = dialect.table("saga_executions").text;
  const logs = dialect.table("saga_logs").text;
  const isPostgres = dialect.name === "postgres";
  // Room on each page, so that a saga's end does not move its row; and vacuum early, as every row changes once.
  const busy = isPostgres
    ? " with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)"
    : " strict, without rowid";
  const appended = isPostgres ? "" : " strict, without rowid";
  const first = isPostgres
    ? `rtrim(split_part(plan, ' ', 1), '${PLAN_SIGNS}')`
    : `rtrim(substr(plan, 1, instr(plan || ' ', ' ') - 1), '${PLAN_SIGNS}')`;
  return [
    // Fails an optimistic write of which something is not as expected (checked-write.ts).
    ...(isPostgres
      ? [
          `create function ${dialect.table("refuse").text}() returns boolean language plpgsql as $$ begin raise exception 'amends: not as expected; the write is repeated with checks' using errcode = '${REFUSED_STATE}'; end $$`,
        ]
      : []),
    `create table ${executions} (
      id ${id} primary key,
      name text not null,
      definition integer not null default 1,
      status text not null check (${oneOf("status", sagaMachine.states)}),
      context text not null,
      plan text not null default '',
      begun ${bool} not null default ${isPostgres ? "false" : "0"},
      version integer not null default 1 check (version >= 1),
      token ${bigint} not null default 0,
      owner text,
      recovery_attempts integer not null default 0 check (recovery_attempts >= 0),
      next_attempt_at ${instant},
      last_attempt_at ${instant},
      deadline_at ${instant},
      error text,
      created_at ${instant} not null,
      updated_at ${instant} not null
    )${busy}`,
    `create index ${indexName(dialect, "saga_executions_due")} on ${executions} (recovery_attempts, ${gate("next_attempt_at")}, id) where ${oneOf("status", CLAIMABLE)}`,
    `create index ${indexName(dialect, "saga_executions_stalled")} on ${executions} (updated_at, id) where status = 'STALLED'`,
    // For people who look back: by state, with what figures need, and by name. They hold ended sagas alone, so that each
    // saga is written into them once, at its end.
    `create index ${indexName(dialect, "saga_executions_ended")} on ${executions} (status, updated_at, id, created_at) where ${oneOf("status", sagaMachine.terminal)}`,
    `create index ${indexName(dialect, "saga_executions_ended_name")} on ${executions} (name, status, updated_at, id) where ${oneOf("status", sagaMachine.terminal)}`,
    `create table ${logs} (
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
    )${appended}`,
    ...refuse(dialect, {
      name: "saga_executions_terminal",
      table: "saga_executions",
      on: "update",
      when: oneOf("old.status", sagaMachine.terminal),
      message: "amends: a saga that has ended never changes",
    }),
    ...refuse(dialect, {
      name: "saga_logs_append_only",
      table: "saga_logs",
      on: "update",
      message: "amends: the log of a saga is only ever added to",
    }),
    // What a person reads: one line per call begun or ended, also where one row stands for two.
    `create view ${dialect.table("saga_history").text} as
      select saga_id, id, 0 as part, step_name, action, status, details, created_at from ${logs}
      union all
      select saga_id, id, 1, next_step, next_action, 'STARTED', null, created_at from ${logs} where next_step is not null
      union all
      select id, 1, 0, ${first}, 'act', 'STARTED', null, created_at from ${executions} where begun${isPostgres ? "" : " = 1"}`,
  ];
}
