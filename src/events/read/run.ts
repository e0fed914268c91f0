/** A run of a saga over events as a line of a list. */
import type { FlowState } from "../../core/flow/state.ts";
import type { Row } from "../../storage/database.ts";
import { toState, trailOf } from "../store/rows.ts";

export interface ListedRun {
  readonly id: string;
  /** The name of the saga. */
  readonly type: string;
  readonly processId: string;
  /** 1 for the first run of this process. */
  readonly run: number;
  readonly state: FlowState;
  readonly startedAtMs: number;
  /** As the database has it, with its fraction: lists are ordered by it. */
  readonly updatedAtMs: number;
  readonly dueAtMs: number | undefined;
  /** The ids of the entries that were written for it. */
  readonly trail: readonly string[];
}

export function toListedRun(row: Row): ListedRun {
  return {
    id: row["saga_id"] as string,
    type: row["saga_type"] as string,
    processId: row["process_id"] as string,
    run: Number(row["run"]),
    state: stateOf(row),
    startedAtMs: Number(row["started_at"]),
    updatedAtMs: Number(row["updated_at"]),
    dueAtMs: row["due_at"] === null ? undefined : Number(row["due_at"]),
    trail: trailOf(row),
  };
}

/** A row that was changed by hand must not stop the list. */
function stateOf(row: Row): FlowState {
  try {
    return toState(row);
  } catch {
    const status = row["status"] as FlowState["status"];
    const none = { completedSteps: [], undoSteps: [], lateStep: undefined, failure: undefined };
    return { status, currentStep: Number(row["current_step"]), ...none };
  }
}
