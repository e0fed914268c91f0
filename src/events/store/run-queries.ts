/** The statements on `saga_state`: inserts, updates and reads of runs. */
import { flowMachine, type FlowStatus } from "../../core/flow/machine.ts";
import { BEGUN } from "../../core/flow/state.ts";
import { causedFields, causedRows, type Caused } from "../../outbox/deliveries/outcome-queries.ts";
import { flag, float, int, text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { nextDueIn, untilInstant } from "../../storage/read/next-due.ts";
import { AT_REST } from "../run-handle.ts";
import type { Move, NewRun } from "../run/outcome.ts";
import { RUN } from "./run-row.ts";

/** Select list of `STORED_RUN`. */
export function runColumns(dialect: Dialect): Sql {
  return sql`${RUN.columns(dialect, "s")}, ${dialect.epochMs(dialect.now())} as now_at`;
}

export function selectRuns(dialect: Dialect, sagaIds: readonly string[]): Sql {
  return sql`select ${runColumns(dialect)} from ${dialect.table("saga_state")} as s
    where ${dialect.among(raw("s.saga_id"), sagaIds)}`;
}

/** The runs of a process, the newest first. */
export function selectRunsOf(
  dialect: Dialect,
  sagaType: string,
  processId: string,
  limit: number = 1_000_000,
): Sql {
  return sql`select ${runColumns(dialect)} from ${dialect.table("saga_state")} as s
    where s.saga_type = ${sagaType} and s.process_id = ${processId} order by s.run desc limit ${limit}`;
}

/** A run with a deadline that can still begin to compensate. */
const WATCHED: readonly FlowStatus[] = flowMachine.sources("turnBack");

/** Runs past their deadline. */
export function selectExpired(dialect: Dialect, limit: number): Sql {
  return sql`select ${runColumns(dialect)} from ${dialect.table("saga_state")} as s
    where s.due_at <= ${dialect.now()} and s.status in (${literals(WATCHED)})
    order by s.due_at, s.saga_id limit ${limit}`;
}

/** Milliseconds until the first deadline of an open run passes; null if none has one. Only such runs have a `due_at`. */
export function untilDeadline(dialect: Dialect): Sql {
  // The bound keeps planners from the index of open runs, of which most have no deadline.
  const first = sql`(select s.due_at from ${dialect.table("saga_state")} as s
    where s.due_at > ${dialect.instantOf(0)} order by s.due_at, s.saga_id limit 1)`;
  return untilInstant(dialect, first);
}

/** When the next deadline of a run passes. */
export function nextDeadline(dialect: Dialect): Sql {
  const isOpen = sql`c.status in (${literals(WATCHED)})`;
  return nextDueIn(dialect, dialect.table("saga_state"), "due_at", isOpen);
}

/** A run that begins. */
export interface RunInsert extends Caused {
  readonly run: NewRun;
}

const NEW_RUN = causedFields<RunInsert>({
  saga_id: text(({ run }) => run.sagaId),
  saga_type: text(({ run }) => run.sagaType),
  process_id: text(({ run }) => run.processId),
  trigger_id: uuid(({ run }) => run.triggerId),
  trail: text(({ run }) => run.entryId),
  step_ms: float(({ run }) => run.stepMs),
  deadline_ms: float(({ run }) => run.deadlineMs),
});

/** A process has at most one open run, and one run per trigger, however often the trigger is delivered. */
export function insertRuns(dialect: Dialect, inserts: readonly RunInsert[], isCaused: boolean): Sql {
  const table = dialect.table("saga_state");
  const now = dialect.now();
  const { relation, condition } = causedRows(dialect, NEW_RUN, inserts, isCaused);
  const after = (ms: Sql): Sql =>
    sql`case when ${ms} is null then null else ${dialect.plusMs(now, sql`(${ms})`)} end`;
  const least = sql`case when r.deadline_ms is null or r.step_ms < r.deadline_ms then r.step_ms else r.deadline_ms end`;
  const next = sql`(select coalesce(max(o.run), 0) + 1 from ${table} as o
    where o.saga_type = r.saga_type and o.process_id = r.process_id)`;
  return sql`insert into ${table} (saga_id, saga_type, process_id, run, status, trigger_id, trail, deadline_at, due_at, started_at, updated_at)
    select r.saga_id, r.saga_type, r.process_id, ${next}, ${literals([BEGUN.status])}, r.trigger_id, r.trail,
      ${after(raw("r.deadline_ms"))}, ${after(least)}, ${now}, ${now}
    from ${relation} where ${condition} and not exists (select 1 from ${table} as o
      where o.saga_type = r.saga_type and o.process_id = r.process_id and o.trigger_id = r.trigger_id)
    on conflict do nothing returning saga_id`;
}

/** The run `r.saga_id` has begun with this statement: on PostgreSQL the stage `begun` says so, on SQLite the table. */
export function hasBegun(dialect: Dialect, isAny: boolean): Sql {
  return dialect.pick({
    postgres: raw(isAny ? "r.saga_id in (select saga_id from begun)" : "false"),
    sqlite: sql`exists (select 1 from ${dialect.table("saga_state")} as s where s.saga_id = r.saga_id)`,
  });
}

/** The update of a run, with the ids of its new rows. */
export interface RunMove extends Caused {
  readonly move: Move;
  readonly trail: string;
}

const MOVE = causedFields<RunMove>({
  run_id: text(({ move }) => move.run.sagaId),
  version: int(({ move }) => move.run.version),
  from_status: text(({ move }) => move.run.state.status),
  to_status: text(({ move }) => move.state.status),
  current_step: int(({ move }) => move.state.currentStep),
  completed_steps: text(({ move }) => JSON.stringify(move.state.completedSteps)),
  trail: text(({ trail }) => trail),
  undo_steps: text(({ move }) => JSON.stringify(move.state.undoSteps), { default: "[]" }),
  late_steps: text(({ move }) => JSON.stringify(move.state.lateSteps), { default: "[]" }),
  answers: text(({ move }) => JSON.stringify(move.state.answers), { default: "{}" }),
  failed_step: text(({ move }) => move.state.failure?.step, { default: null }),
  failed_label: text(({ move }) => move.state.failure?.error, { default: null }),
  step_ms: float(({ move }) => (move.stepMs === "rest" ? null : move.stepMs), { default: null }),
  keeps_due: flag(({ move }) => move.stepMs === "rest", { default: 0 }),
  note: text(({ move }) => move.note, { default: null }),
});

/**
 * The run `r.run_id` has the version that the decision was made on. A scalar subquery instead of an `exists`: next
 * to an "or", PostgreSQL would hash the whole table for it.
 */
export function isUnmoved(dialect: Dialect): Sql {
  return sql`r.run_version = (select s.version from ${dialect.table("saga_state")} as s
    where s.saga_id = r.run_id and s.status = r.run_status)`;
}

/**
 * Updates a run once per version. The instant of its end is a separate column (`rested_at`), so updates of an open
 * run change no indexed column.
 */
export function moveRuns(dialect: Dialect, moves: readonly RunMove[], isCaused: boolean): Sql {
  const now = dialect.now();
  const { relation, condition } = causedRows(dialect, MOVE, moves, isCaused);
  const step = dialect.plusMs(now, raw("r.step_ms"));
  return sql`update ${dialect.table("saga_state")} as s
    set status = r.to_status, version = r.version + 1, current_step = r.current_step,
      completed_steps = r.completed_steps, undo_steps = r.undo_steps, late_steps = r.late_steps, answers = r.answers,
      error = r.failed_step, error_label = r.failed_label, trail = s.trail || r.trail, updated_at = ${now},
      rested_at = case when r.to_status in (${literals(AT_REST)}) then ${now} end,
      notes = case when r.note is null then s.notes else substr(s.notes, 1, length(s.notes) - 1)
        || case when s.notes = '[]' then '' else ',' end || r.note || ']' end,
      due_at = case when not r.to_status in (${literals(WATCHED)}) then null when r.keeps_due = 1 then s.due_at
        when r.step_ms is null then s.deadline_at when s.deadline_at < ${step} then s.deadline_at else ${step} end
    from ${relation} where s.saga_id = r.run_id and s.version = r.version and s.status = r.from_status and ${condition}
    returning saga_id`;
}

/** Finds a run that has this note: the answer to the commit that wrote it may have been lost. */
export function findNotedRun(dialect: Dialect, sagaId: string, note: string): Sql {
  return sql`select saga_id from ${dialect.table("saga_state")}
    where saga_id = ${sagaId} and replace(notes, ${note}, '') <> notes`;
}
