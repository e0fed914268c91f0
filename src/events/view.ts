/** One run of a saga over events, as people see it. */
import type { FlowStatus } from "../core/flow/machine.ts";
import type { FlowFailure, UndoKind } from "../core/flow/state.ts";
import type { TrailEntry } from "../outbox/read/entry.ts";
import type { Row } from "../storage/database.ts";
import { toRunEvent, toState, type RunEvent } from "./store/rows.ts";

export interface FlowNote {
  readonly action: string;
  readonly reason: string;
  readonly by?: string;
  readonly at: string;
}

/** One step of a saga over events, as its definition says. */
export interface FlowStepView {
  readonly name: string;
  /** Undefined where its definition is not known. */
  readonly handler: string | undefined;
  /** The event that undoes it. */
  readonly command: string | undefined;
  readonly undo: UndoKind;
}

export interface FlowView {
  readonly id: string;
  readonly saga: string;
  readonly processId: string;
  /** 1 for the first run of this process. */
  readonly run: number;
  readonly status: FlowStatus;
  /** How many steps are done: the index of the one that is waited for. */
  readonly currentStep: number;
  readonly completedSteps: readonly string[];
  /** What is still to be undone, next one first. */
  readonly undoSteps: readonly string[];
  readonly failure: FlowFailure | undefined;
  readonly startedAt: Date;
  readonly updatedAt: Date;
  /** What people did to it. */
  readonly notes: readonly FlowNote[];
  /** The trigger's delivery, and everything that was sent out for it, in order. */
  readonly events: readonly RunEvent[];
}

export function flowView(row: Row, trail: readonly TrailEntry[]): FlowView {
  const { status, currentStep, completedSteps, undoSteps, failure } = toState(row);
  return {
    id: row["saga_id"] as string,
    saga: row["saga_type"] as string,
    processId: row["process_id"] as string,
    run: Number(row["run"]),
    status,
    currentStep,
    completedSteps,
    undoSteps,
    failure,
    startedAt: new Date(Number(row["started_at"])),
    updatedAt: new Date(Number(row["updated_at"])),
    notes: JSON.parse(row["notes"] as string) as FlowNote[],
    events: trail.map(toRunEvent),
  };
}
