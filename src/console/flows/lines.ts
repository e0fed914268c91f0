/** Event flows as the console shows them: what events carry is masked. */
import type { FlowState } from "../../core/flow/state.ts";
import { flowMachine } from "../../core/flow/machine.ts";
import { outboxMachine, type OutboxStatus } from "../../core/outbox/machine.ts";
import { stateOf as stateIn, STORED_RUN } from "../../events/store/run-row.ts";
import type { FlowStepView } from "../../events/view.ts";
import type { Row } from "../../storage/database.ts";
import type { Json } from "../contract.ts";
import type { FlowDetail, FlowEvent, FlowLine } from "../contract-parts.ts";
import { flowGraph, type SentEvent } from "./graph.ts";
import { mask } from "../http/mask.ts";
import { parsed } from "../outbox/lines.ts";
import { iso } from "../sagas/lines.ts";

/** The steps of a flow; undefined where this process does not know its definition. */
export type KnownSteps = readonly FlowStepView[] | undefined;

export function toFlowLine(row: Row, steps: KnownSteps): FlowLine {
  const state = stateOf(row);
  return {
    id: row["saga_id"] as string,
    type: row["saga_type"] as string,
    processId: row["process_id"] as string,
    run: Number(row["run"]),
    status: state.status,
    currentStep: stepOf(state, steps) ?? null,
    completedSteps: state.completedSteps,
    startedAt: iso(Number(row["started_at"])),
    updatedAt: iso(Number(row["updated_at"])),
    dueAt: row["due_at"] === null ? null : iso(Number(row["due_at"])),
    errorLabel: state.failure?.error ?? null,
  };
}

export function toFlowDetail(row: Row, events: readonly Row[], steps: KnownSteps): FlowDetail {
  const line = toFlowLine(row, steps);
  const state = stateOf(row);
  const error = errorOf(line, events);
  const isStalled = flowMachine.sources("resume").includes(line.status);
  return {
    ...line,
    error: error === undefined ? null : mask(error),
    // Who steers it must know its steps: elsewhere there is nothing to press.
    actions: isStalled && steps ? ["retry", "resolve"] : [],
    events: events.map(toFlowEvent),
    graph: flowGraph(state, steps, events.map(toSent)),
  };
}

/** The event with which the step failed, where it ended with one. */
export function errorOf(
  { errorLabel }: Pick<FlowLine, "errorLabel">,
  events: readonly Row[],
): Json | undefined {
  const failed = errorLabel === null ? undefined : events.find((row) => row["name"] === errorLabel);
  return failed && parsed(failed["payload"] as string | null);
}

function toFlowEvent(row: Row): FlowEvent {
  const payload = row["payload"] as string | null;
  const status = row["status"] as OutboxStatus;
  return {
    id: row["entry_id"] as string,
    name: row["name"] as string,
    handler: (row["handler"] as string | null) ?? null,
    status,
    attempts: Number(row["attempts"]),
    at: iso(Number(row["enqueued_at"])),
    lastError: (row["last_error"] as string | null) ?? null,
    data: payload === null ? null : mask(parsed(payload)),
    actions: outboxMachine.sources("requeue").includes(status) ? ["retry", "resolve"] : [],
  };
}

function toSent(row: Row): SentEvent {
  return {
    eventId: row["event_id"] as string,
    causation: (row["causation"] as string | null) ?? undefined,
    name: row["name"] as string,
    handler: (row["handler"] as string | null) ?? undefined,
    status: row["status"] as OutboxStatus,
    attempts: Number(row["attempts"]),
    atMs: Number(row["enqueued_at"]),
    triedAtMs: row["last_attempt_at"] === null ? undefined : Number(row["last_attempt_at"]),
  };
}

/** Going forward it is the step that is waited for; going back, the one that is undone next. */
function stepOf(
  { status, currentStep, undoSteps, lateStep }: FlowState,
  steps: KnownSteps,
): string | undefined {
  if (flowMachine.isTerminal(status)) return undefined;
  return status === "running" ? steps?.[currentStep]?.name : (lateStep ?? undoSteps[0]);
}

/** A row that somebody changed by hand must not keep the others from being shown. */
function stateOf(row: Row): FlowState {
  try {
    return stateIn(STORED_RUN.read(row));
  } catch {
    const status = row["status"] as FlowState["status"];
    const none = { completedSteps: [], undoSteps: [], lateStep: undefined, failure: undefined };
    return { status, currentStep: Number(row["current_step"]), ...none };
  }
}
