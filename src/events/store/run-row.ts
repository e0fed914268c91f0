/**
 * A row of `saga_state`: one run of a saga over events with its progress, its deadlines and the ids of its rows.
 */
import type { FlowStatus } from "../../core/flow/machine.ts";
import type { FlowState } from "../../core/flow/state.ts";
import { instant, int, json, optional, text } from "../../storage/column.ts";
import { projection, table, type Projection, type Table } from "../../storage/table.ts";
import type { RunRecord } from "../run/outcome.ts";
import type { FlowNote } from "../view.ts";

/** A run as it is stored, and the instant of the statement that read it. */
export interface StoredRun {
  readonly sagaId: string;
  readonly sagaType: string;
  readonly processId: string;
  readonly run: number;
  readonly status: FlowStatus;
  readonly currentStep: number;
  readonly completedSteps: readonly string[];
  readonly undoSteps: readonly string[];
  readonly lateSteps: readonly string[];
  readonly answers: Readonly<Record<string, string>>;
  readonly error: string | undefined;
  readonly errorLabel: string | undefined;
  readonly version: number;
  readonly notes: readonly FlowNote[];
  readonly trail: string;
  readonly dueAt: number | undefined;
  readonly deadlineAt: number | undefined;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly nowAt: number;
}

export const RUN: Table<Omit<StoredRun, "nowAt">> = table("saga_state", {
  sagaId: text("saga_id"),
  sagaType: text("saga_type"),
  processId: text("process_id"),
  run: int("run"),
  status: text<FlowStatus>("status"),
  currentStep: int("current_step"),
  completedSteps: json<readonly string[]>("completed_steps"),
  undoSteps: json<readonly string[]>("undo_steps"),
  lateSteps: json<readonly string[]>("late_steps"),
  answers: json<Readonly<Record<string, string>>>("answers"),
  error: optional(text("error")),
  errorLabel: optional(text("error_label")),
  version: int("version"),
  notes: json<readonly FlowNote[]>("notes"),
  trail: text("trail"),
  dueAt: optional(instant("due_at")),
  deadlineAt: optional(instant("deadline_at")),
  startedAt: instant("started_at"),
  updatedAt: instant("updated_at"),
});

export const STORED_RUN: Projection<StoredRun> = projection({ ...RUN.shape, nowAt: instant("now_at") });

/** A run, and what was written for it. */
export const RUN_TRAIL: Projection<Pick<StoredRun, "sagaId" | "trail">> = projection({
  sagaId: RUN.shape.sagaId,
  trail: RUN.shape.trail,
});

/** The ids of the rows of the outbox that were written for a run, in their order. */
export function trailOf({ trail }: Pick<StoredRun, "trail">): readonly string[] {
  return trail === "" ? [] : trail.split(" ");
}

export function stateOf(row: StoredRun): FlowState {
  const { status, currentStep, completedSteps, answers, undoSteps, lateSteps, error, errorLabel } = row;
  const failure = error === undefined ? undefined : { step: error, error: errorLabel ?? "" };
  return { status, currentStep, completedSteps, answers, undoSteps, lateSteps, failure };
}

/** `hereMs` is this process's clock when the row was read: the remaining time counts from there. */
export function toRun(row: StoredRun, hereMs: number): RunRecord {
  const { sagaId, sagaType, processId, version, dueAt, deadlineAt, nowAt } = row;
  const here = (at: number | undefined): number | undefined =>
    at === undefined ? undefined : hereMs + at - nowAt;
  return {
    sagaId,
    sagaType,
    processId,
    version,
    state: stateOf(row),
    dueAtMs: here(dueAt),
    deadlineAtMs: here(deadlineAt),
  };
}
