/** Event flows as the console shows them: what events carry is masked. */
import { flowMachine } from "../../core/flow/machine.ts";
import { progressOf } from "../../core/flow/path.ts";
import type { FlowState } from "../../core/flow/state.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import type { ListedRun } from "../../events/read/run.ts";
import type { FlowStepView } from "../../events/view.ts";
import type { TrailEntry } from "../../outbox/read/entry.ts";
import type { FlowDetail, FlowEvent, FlowLine } from "../contract-parts.ts";
import type { Json } from "../contract.ts";
import { mask } from "../http/mask.ts";
import { parsed } from "../outbox/lines.ts";
import { iso } from "../sagas/lines.ts";
import { flowGraph, type SentEvent } from "./graph.ts";

/** The steps of a flow; undefined where this process does not know its definition. */
export type KnownSteps = readonly FlowStepView[] | undefined;

export function toFlowLine(given: ListedRun, steps: KnownSteps): FlowLine {
  const { id, type, processId, run, state, startedAtMs, updatedAtMs, dueAtMs } = given;
  return {
    id,
    type,
    processId,
    run,
    status: state.status,
    currentStep: stepOf(state, steps) ?? null,
    completedSteps: state.completedSteps,
    startedAt: iso(startedAtMs),
    updatedAt: iso(updatedAtMs),
    dueAt: dueAtMs === undefined ? null : iso(dueAtMs),
    errorLabel: state.failure?.error ?? null,
  };
}

export function toFlowDetail(run: ListedRun, trail: readonly TrailEntry[], steps: KnownSteps): FlowDetail {
  const error = errorOf(run, trail);
  const isStalled = flowMachine.sources("resume").includes(run.state.status);
  return {
    ...toFlowLine(run, steps),
    error: error === undefined ? null : mask(error),
    // Without its definition the next undo is unknown, so no action is offered.
    actions: isStalled && steps ? ["retry", "resolve"] : [],
    events: trail.map(toFlowEvent),
    graph: flowGraph(run.state, steps, trail.map(toSent)),
  };
}

/** The event with which the step failed, where it ended with one. */
export function errorOf({ state }: ListedRun, trail: readonly TrailEntry[]): Json | undefined {
  const failed = state.failure && trail.find(({ name }) => name === state.failure?.error);
  return failed && parsed(failed.payload);
}

function toFlowEvent(entry: TrailEntry): FlowEvent {
  const { entryId, name, handler, status, attempts, enqueuedAt, lastError, payload } = entry;
  return {
    id: entryId,
    name,
    handler: handler ?? null,
    status,
    attempts,
    at: iso(enqueuedAt),
    lastError: lastError ?? null,
    data: payload === undefined ? null : mask(parsed(payload)),
    actions: outboxMachine.sources("requeue").includes(status) ? ["retry", "resolve"] : [],
  };
}

function toSent(entry: TrailEntry): SentEvent {
  const { eventId, causation, name, handler, status, attempts, enqueuedAt, lastAttemptAt } = entry;
  return {
    eventId,
    causation,
    name,
    handler,
    status,
    attempts,
    atMs: enqueuedAt,
    triedAtMs: lastAttemptAt,
  };
}

/** Going forward it is the step that is waited for, or several beside each other; going back, the one that is undone next. */
function stepOf(state: FlowState, steps: KnownSteps): string | undefined {
  const { status, undoSteps, lateSteps } = state;
  if (flowMachine.isTerminal(status)) return undefined;
  const due =
    status === "running" && steps
      ? (progressOf({ trigger: steps[0]?.takes[0] ?? "", steps }, state)?.due ?? [])
      : lateSteps;
  return due.length > 0 ? due.join(", ") : undoSteps[0];
}
