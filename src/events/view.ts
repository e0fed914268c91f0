/** One run of a saga over events, as people see it. */
import type { FlowStatus } from "../core/flow/machine.ts";
import type { FlowFailure, UndoKind } from "../core/flow/state.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { TrailEntry } from "../outbox/read/entry.ts";
import { stateOf, type StoredRun } from "./store/run-row.ts";

/** What a person did to a run, and why. */
export interface FlowNote {
  /** What the operator did. */
  readonly action: string;
  /** Why the operator did it. */
  readonly reason: string;
  /** Who did it. */
  readonly by?: string;
  /** When, by the database's clock, as ISO 8601. */
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
  /** The id of the delivery. */
  readonly id: string;
  /** The name of the event's type. */
  readonly event: string;
  /** The handler that it is delivered to; undefined if there is none. */
  readonly handler: string | undefined;
  /** The state of the delivery. */
  readonly status: OutboxStatus;
  /** How often it was claimed. */
  readonly attempts: number;
  /** The label of the last error. */
  readonly error: string | undefined;
  /** When it was sent, by the database's clock. */
  readonly at: Date;
}

/** One run of a saga over events. */
export interface FlowView {
  /** The id of the run. */
  readonly id: string;
  /** The name of the event saga. */
  readonly saga: string;
  /** The id of the process that it is a run of. */
  readonly processId: string;
  /** 1 for the first run of this process. */
  readonly run: number;
  /** The state of the run. */
  readonly status: FlowStatus;
  /** How many steps are done: the index of the one that is waited for. */
  readonly currentStep: number;
  /** The steps that are done, in their order. */
  readonly completedSteps: readonly string[];
  /** What is still to be undone, next one first. */
  readonly undoSteps: readonly string[];
  /** Why the run turned back; undefined if it did not. */
  readonly failure: FlowFailure | undefined;
  /** When it began, by the database's clock. */
  readonly startedAt: Date;
  /** When it last changed, by the database's clock. */
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
