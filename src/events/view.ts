/** One run of a saga over events, as people see it. */
import type { FlowStatus } from "../core/flow/machine.ts";
import type { FlowFailure, UndoKind } from "../core/flow/state.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { TrailEntry } from "../outbox/read/entry.ts";
import { stateOf, type StoredRun } from "./store/run-row.ts";

/** What a person did to a run, and why. */
export interface FlowNote {
  readonly action: string;
  readonly reason: string;
  readonly by?: string;
  readonly at: string;
}

/** One step of a saga over events, as its definition says. */
export interface FlowStepView {
  readonly name: string;
  /** Undefined if its definition is not known. */
  readonly handler: string | undefined;
  /** The event that undoes it. */
  readonly command: string | undefined;
  readonly undo: UndoKind;
}

/** One row of the outbox that belongs to a run. */
export interface RunEvent {
  readonly id: string;
  readonly event: string;
  readonly handler: string | undefined;
  readonly status: OutboxStatus;
  readonly attempts: number;
  readonly error: string | undefined;
  readonly at: Date;
}

/** One run of a saga over events. */
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

export function flowView(stored: StoredRun, trail: readonly TrailEntry[]): FlowView {
  const { status, currentStep, completedSteps, undoSteps, failure } = stateOf(stored);
  return {
    id: stored.sagaId,
    saga: stored.sagaType,
    processId: stored.processId,
    run: stored.run,
    status,
    currentStep,
    completedSteps,
    undoSteps,
    failure,
    startedAt: new Date(stored.startedAt),
    updatedAt: new Date(stored.updatedAt),
    notes: stored.notes,
    events: trail.map(toRunEvent),
  };
}

function toRunEvent(entry: TrailEntry): RunEvent {
  const { entryId: id, name: event, handler, status, attempts, lastError: error, enqueuedAt } = entry;
  return { id, event, handler, status, attempts, error, at: new Date(enqueuedAt) };
}
