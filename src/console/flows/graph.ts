/** One run of an event flow as a picture. What happened to a step is read from its delivery, and from where the run is. */
import type { FlowState } from "../../core/flow/state.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import type { FlowStepView } from "../../events/view.ts";
import type { Graph, GraphNode } from "../contract.ts";
import { edgesOf, endNode } from "../sagas/run-graph.ts";
import { iso } from "../sagas/lines.ts";

export interface SentEvent {
  readonly eventId: string;
  /** The event that caused it. */
  readonly causation: string | undefined;
  readonly name: string;
  readonly handler: string | undefined;
  readonly status: OutboxStatus;
  readonly attempts: number;
  readonly atMs: number;
  readonly triedAtMs: number | undefined;
}

type NodeState = GraphNode["state"];

export function flowGraph(
  state: FlowState,
  known: readonly FlowStepView[] | undefined,
  sent: readonly SentEvent[],
): Graph {
  const steps = known ?? namedIn(state);
  const acts = steps.map((step, index) => {
    const delivery = sent.findLast(({ handler }) => handler !== undefined && handler === step.handler);
    return nodeOf("act", step.name, actState(state, step, index, delivery), delivery, sent);
  });
  const undos = steps.map((step) => {
    if (step.undo === "none") return undefined;
    const command = sent.findLast(({ name }) => name === step.command);
    return nodeOf("undo", step.name, undoState(state, step, command), command, sent);
  });
  const { status } = state;
  const ended = status === "completed" || status === "failed" ? status : undefined;
  return {
    nodes: [
      endNode("start", "start", "done"),
      ...acts,
      ...undos.filter((node) => node !== undefined),
      endNode("completed", "end", ended === "completed" ? "done" : "none"),
      endNode("failed", "end", ended === "failed" ? "done" : "none"),
    ],
    edges: edgesOf({ acts, undos, pivot: -1, ended }),
  };
}

/** If the definition is not registered here, the steps are those that the run's state names. */
function namedIn({ completedSteps, failure, lateStep, undoSteps }: FlowState): readonly FlowStepView[] {
  const further = [failure?.step, lateStep].filter((name) => name !== undefined);
  const names = new Set([...completedSteps, ...undoSteps.toReversed(), ...further]);
  return [...names].map((name) => ({ name, handler: undefined, command: undefined, undo: "none" }));
}

function actState(
  state: FlowState,
  { name }: FlowStepView,
  index: number,
  delivery: SentEvent | undefined,
): NodeState {
  if (state.completedSteps.includes(name)) return "done";
  if (state.lateStep === name) return "running";
  if (state.failure?.step === name) return "failed";
  const isAwaited = state.status === "running" && index === state.currentStep;
  return isAwaited ? workState(delivery) : "none";
}

function undoState(
  { status, undoSteps }: FlowState,
  { name, undo }: FlowStepView,
  command: SentEvent | undefined,
): NodeState {
  if (!command) return "none";
  if (undo === "sent") return "done";
  if (undoSteps[0] === name) return status === "stalled" ? "failed" : workState(command);
  // It is no longer waited for: it was answered, or a person has seen to it.
  return command.status === "succeeded" ? "done" : "skipped";
}

function workState(delivery: SentEvent | undefined): NodeState {
  if (delivery?.status === "failed") return "retrying";
  return delivery?.status === "abandoned" ? "failed" : "running";
}

function nodeOf(
  kind: "act" | "undo",
  step: string,
  state: NodeState,
  delivery: SentEvent | undefined,
  sent: readonly SentEvent[],
): GraphNode {
  const hasBegun = state !== "none" && delivery !== undefined;
  const isOver = state !== "none" && state !== "running" && state !== "retrying";
  const answer = isOver && delivery && sent.find(({ causation }) => causation === delivery.eventId);
  return {
    id: `${kind}:${step}`,
    kind,
    step,
    label: step,
    pivot: false,
    group: null,
    state,
    attempts: hasBegun ? delivery.attempts : 0,
    startedAt: hasBegun ? iso(delivery.triedAtMs ?? delivery.atMs) : null,
    endedAt: answer ? iso(answer.atMs) : null,
  };
}
