/**
 * What sagas wait for. `saga_signals` keeps what was sent to a saga, numbered under the lock on the saga's row; it is
 * only ever added to, and which of it was taken stands in the saga's log. The saga's row says how much was sent, and
 * what the saga waits for while nobody has it: so whoever sends knows whether to wake it, and a saga that begins to wait
 * sees in the very update that something has come. `saga_interests` says which events a saga will wait for, from its
 * start to its end.
 */
import { PLAN_SIGNS } from "../../core/saga/plan.ts";
import type { Dialect } from "../database.ts";
import { indexName, refuse, words } from "./ddl.ts";

export function signals(dialect: Dialect): string[] {
  const { instant, bool, id } = words(dialect);
  const isPostgres = dialect.name === "postgres";
  const table = (name: string): string => dialect.table(name).text;
  const [executions, logs] = [table("saga_executions"), table("saga_logs")];
  const kept = isPostgres ? "" : " strict, without rowid";
  const before = (text: string, sign: string): string =>
    isPostgres
      ? `split_part(${text}, '${sign}', 1)`
      : `substr(${text}, 1, instr(${text} || '${sign}', '${sign}') - 1)`;
  // The first step's name, without the signs that say what it is and what it waits for.
  const first = `rtrim(${before(before(before("plan", " "), ":"), "/")}, '${PLAN_SIGNS}')`;
  const begun = bool === "boolean" ? "begun" : "begun = 1";
  return [
    `alter table ${executions} add column awaits text`,
    `alter table ${executions} add column signals integer not null default 0`,
    `create table ${table("saga_signals")} (
      saga_id ${id} not null,
      number integer not null check (number >= 1),
      name ${id} not null,
      dedupe_id ${id} not null,
      payload text,
      event_version integer,
      created_at ${instant} not null,
      primary key (saga_id, number)
    )${kept}`,
    `create unique index ${indexName(dialect, "saga_signals_once")} on ${table("saga_signals")} (saga_id, name, dedupe_id)`,
    ...refuse(dialect, {
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
    )${kept}`,
    `create index ${indexName(dialect, "saga_interests_saga")} on ${table("saga_interests")} (saga_id)`,
    `drop view ${table("saga_history")}`,
    `create view ${table("saga_history")} as
      select saga_id, id, 0 as part, step_name, action, status, details, created_at from ${logs}
      union all
      select saga_id, id, 1, next_step, next_action, 'STARTED', null, created_at from ${logs} where next_step is not null
      union all
      select id, 1, 0, ${first}, 'act', 'STARTED', null, created_at from ${executions} where ${begun}`,
  ];
}
