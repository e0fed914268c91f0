/** A run of a saga over events as a line of a list. */
import type { FlowState } from "../../core/flow/state.ts";
import { instant, int, optional, text } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import { projection } from "../../storage/table.ts";
import { stateOf, STORED_RUN, trailOf } from "../store/run-row.ts";

export interface ListedRun {
  readonly id: string;
  /** The name of the saga. */
  readonly type: string;
  readonly processId: string;
  /** 1 for the first run of this process. */
  readonly run: number;
  readonly state: FlowState;
  readonly startedAtMs: number;
  /** The database's instant with its fraction of a millisecond: lists are ordered by it. */
  readonly updatedAtMs: number;
  readonly dueAtMs: number | undefined;
  /** The ids of the entries that were written for it. */
  readonly trail: readonly string[];
}

const LISTED = projection({
  id: text("saga_id"),
  type: text("saga_type"),
  processId: text("process_id"),
  run: int("run"),
  status: text<FlowState["status"]>("status"),
  currentStep: int("current_step"),
  startedAtMs: instant("started_at"),
  updatedAtMs: instant("updated_at"),
  dueAtMs: optional(instant("due_at")),
  trail: text("trail"),
});

export function toListedRun(row: Row): ListedRun {
  const { status, currentStep, trail, ...run } = LISTED.read(row);
  // An invalid row (edited by hand) must not break the list.
  const stored = STORED_RUN.tryRead(row);
  const unreadable = { completedSteps: [], answers: {}, undoSteps: [], lateSteps: [], failure: undefined };
  const state = stored ? stateOf(stored) : { status, currentStep, ...unreadable };
  return { ...run, state, trail: trailOf({ trail }) };
}
