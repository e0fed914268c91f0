/**
 * Schedules of sagas. A row of `schedules` is a definition and its place in time: the tick that comes next, and when it begins
 * (`next_at`, which is empty while it is paused). Every change gives it another token, which fences the next one.
 *
 * `schedule_ticks` keeps what became of the last ticks of each schedule: record number n is stored in slot n mod 100, so that
 * the table is bounded without anything being removed. `ended` is the end of a started saga, once a later tick has seen it: the
 * index holds only those whose saga may be open.
 */
import { MISSED_POLICIES, OVERLAP_POLICIES, TICK_OUTCOMES } from "../../../core/schedule/due-ticks.ts";
import { NEVER_GATE } from "../../claim.ts";
import { oneOf, type Ddl } from "../ddl.ts";

export function schedules({ instant, bigint, bool, no, id, table, index, gate, pick, end }: Ddl): string[] {
  const name = table("schedules");
  const ticks = table("schedule_ticks");
  return [
    `create table ${name} (
      name ${id} primary key,
      cron text not null,
      timezone text not null,
      saga text not null,
      version integer not null,
      lane ${id} not null,
      input text not null,
      overlap text not null check (${oneOf("overlap", OVERLAP_POLICIES)}),
      missed text not null check (${oneOf("missed", MISSED_POLICIES)}),
      jitter_ms ${bigint} not null,
      token ${bigint} not null,
      tick_at ${instant},
      next_at ${instant},
      run_id ${id},
      caught_up integer not null default 0,
      ticks ${bigint} not null default 0,
      paused_at ${instant},
      paused_by text,
      pause_reason text,
      created_at ${instant} not null,
      updated_at ${instant} not null,
      check (paused_at is null or tick_at is null)
    ${end("changing", "keyed")}`,
    // A worker reads the schedules of the sagas that it knows.
    index("schedules_due", `${name} (lane, next_at, name) where next_at is not null`),
    // For attention and for the next due instant, whatever the saga. The look of a worker cannot take it for its own.
    index(
      "schedules_next",
      `${name} (${gate("next_at")}, name) where ${gate("next_at")} > ${pick(NEVER_GATE)}`,
    ),
    index("schedules_paused", `${name} (name) where paused_at is not null`),
    // For pages that follow what changes.
    index("schedules_changed", `${name} (updated_at)`),
    `create table ${ticks} (
      schedule ${id} not null,
      slot integer not null,
      number ${bigint} not null,
      at ${instant} not null,
      until ${instant} not null,
      outcome text not null check (${oneOf("outcome", TICK_OUTCOMES)}),
      is_run ${bool} not null default ${no},
      saga_id ${id},
      ended text,
      primary key (schedule, slot)
    ${end("changing", "keyed")}`,
    index("schedule_ticks_open", `${ticks} (schedule) where outcome = 'started' and ended is null`),
  ];
}
