/** A run of a saga over events as a line of a list. */
import type { FlowState } from "../../core/flow/state.ts";
import { instant, int, optional, text } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import { projection, type RowOf } from "../../storage/table.ts";
import { toState, trailOf } from "../store/rows.ts";

const LISTED = projection({
  id: text("saga_id"),
  /** The name of the saga. */
  type: text("saga_type"),
  processId: text("process_id"),
  /** 1 for the first run of this process. */
  run: int("run"),
  status: text<FlowState["status"]>("status"),
  currentStep: int("current_step"),
  startedAtMs: instant("started_at"),
  /** As the database has it, with its fraction: lists are ordered by it. */
  updatedAtMs: instant("updated_at"),
  dueAtMs: optional(instant("due_at")),
});

export interface ListedRun extends Omit<RowOf<typeof LISTED>, "status" | "currentStep"> {
  readonly state: FlowState;
  /** The ids of the entries that were written for it. */
  readonly trail: readonly string[];
}

export function toListedRun(row: Row): ListedRun {
  const { status, currentStep, ...run } = LISTED.read(row);
  return { ...run, state: stateOf(row, { status, currentStep }), trail: trailOf(row) };
}

/** A row that was changed by hand must not stop the list. */
function stateOf(row: Row, known: Pick<FlowState, "status" | "currentStep">): FlowState {
  try {
    return toState(row);
  } catch {
    return { ...known, completedSteps: [], undoSteps: [], lateStep: undefined, failure: undefined };
  }
}
