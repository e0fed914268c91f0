/** The public view of one run of a saga over events. */
import type { FlowStatus } from "../core/flow/machine.ts";
import { notTaken, progressOf } from "../core/flow/path.ts";
import type { FlowFailure, FlowPlan, UndoKind } from "../core/flow/state.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { TrailEntry } from "../outbox/read/entry.ts";
import { stateOf, type StoredRun } from "./store/run-row.ts";

/** What an operator did to a run, and why. */
export interface FlowNote {
  /** The action, such as `retry`. */
  readonly action: string;
  /** The reason that the operator gave. */
  readonly reason: string;
  /** The name of the operator, if it was given. */
  readonly by?: string;
  /** When, as an ISO 8601 text. */
  readonly at: string;
}

/** One step of a saga over events, as its definition says. */
export interface FlowStepView {
  /** The name of the step. */
  readonly name: string;
  /** Undefined if its definition is not known. */
  readonly handler: string | undefined;
  /** The event that undoes it. */
  readonly command: string | undefined;
  /** How it is undone. */
  readonly undo: UndoKind;
  /** The names of the events that it waits for, all of them. */
  readonly takes: readonly string[];
  /** The names of the events of its success, of which it gives one. */
  readonly gives: readonly string[];
}

/** One event of a run, or its delivery to a handler, as the outbox holds it. */
export interface RunEvent {
  /** The id of the outbox entry. */
  readonly id: string;
  /** The name of the event type. */
  readonly event: string;
  /** The handler that the event is delivered to; undefined if the event only goes out. */
  readonly handler: string | undefined;
  /** The status of the entry. */
  readonly status: OutboxStatus;
  /** The number of attempts so far, the current one included. */
  readonly attempts: number;
  /** The label of the last error; undefined if there was none. */
  readonly error: string | undefined;
  /** When the entry was enqueued, by the database's clock. */
  readonly at: Date;
}

/** One run of a saga over events. */
export interface FlowView {
  /** The id of the run. */
  readonly id: string;
  /** The name of the saga. */
  readonly saga: string;
  /** The id of the process, as it is stored. */
  readonly processId: string;
  /** 1 for the first run of this process. */
  readonly run: number;
  /** The status of the run. */
  readonly status: FlowStatus;
  /** The number of steps that are done, which in a chain is the index of the current step. */
  readonly currentStep: number;
  /** The names of the steps that are done. */
  readonly completedSteps: readonly string[];
  /** By step: the event that it gave, of those that may give one of several. */
  readonly answers: Readonly<Record<string, string>>;
  /** The names of the steps that the run waits for; empty if it is not running, or if its definition is not known here. */
  readonly dueSteps: readonly string[];
  /** The names of the steps of branches that the run did not take; empty if its definition is not known here. */
  readonly notTaken: readonly string[];
  /** The names of the steps that are still to be undone, the next one first. */
  readonly undoSteps: readonly string[];
  /** Why the run compensates; undefined if it does not. */
  readonly failure: FlowFailure | undefined;
  /** When the run began, by the database's clock. */
  readonly startedAt: Date;
  /** When the run last changed, by the database's clock. */
  readonly updatedAt: Date;
  /** What operators did to the run. */
  readonly notes: readonly FlowNote[];
  /** The delivery of the trigger and every event of the run, in order. */
  readonly events: readonly RunEvent[];
}

/** Without a plan, because the definition is not known here, only what is stored is shown. */
export function flowView(
  stored: StoredRun,
  trail: readonly TrailEntry[],
  plan: FlowPlan | undefined,
): FlowView {
  const state = stateOf(stored);
  const { status, currentStep, completedSteps, answers, undoSteps, failure } = state;
  const due = plan && status === "running" ? progressOf(plan, state)?.due : undefined;
  return {
    id: stored.sagaId,
    saga: stored.sagaType,
    processId: stored.processId,
    run: stored.run,
    status,
    currentStep,
    completedSteps,
    answers,
    dueSteps: due ?? [],
    notTaken: plan ? notTaken(plan, state) : [],
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
