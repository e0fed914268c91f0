/** One run of an event flow as a picture. What happened to a step is read from its delivery, and from where the run is. */
import { answerOf, notTaken, progressOf } from "../../core/flow/path.ts";
import type { FlowPlan, FlowState } from "../../core/flow/state.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import type { FlowStepView } from "../../events/view.ts";
import type { Graph, GraphEdge, GraphNode } from "../contract.ts";
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

/** The steps that the run waits for, and those of branches that it did not take. */
interface Path {
  readonly due: readonly string[];
  readonly notTaken: readonly string[];
}

export function flowGraph(
  state: FlowState,
  known: readonly FlowStepView[] | undefined,
  sent: readonly SentEvent[],
): Graph {
  const steps = known ?? namedIn(state);
  const plan = planOf(steps);
  const path = { due: progressOf(plan, state)?.due ?? [], notTaken: notTaken(plan, state) };
  const acts = steps.map((step) => {
    const delivery = sent.findLast(({ handler }) => handler !== undefined && handler === step.handler);
    return nodeOf("act", step.name, actState(state, step, path, delivery), delivery, sent);
  });
  const undos = steps.map((step) => {
    if (step.undo === "none") return undefined;
    const command = sent.findLast(({ name }) => name === step.command);
    return nodeOf("undo", step.name, undoState(state, step, command), command, sent);
  });
  const { status } = state;
  const ended = status === "completed" || status === "failed" ? status : undefined;
  // A branch that was not taken has not begun: nothing turns back from it.
  const begun = acts.map((act) => (act.state === "skipped" ? { ...act, state: "none" as const } : act));
  const edges = edgesOf({ acts: begun, undos, pivot: -1, ended });
  return {
    nodes: [
      endNode("start", "start", "done"),
      ...acts,
      ...undos.filter((node) => node !== undefined),
      endNode("completed", "end", ended === "completed" ? "done" : "none"),
      endNode("failed", "end", ended === "failed" ? "done" : "none"),
    ],
    edges: [
      ...(known ? forwardEdges(plan, state, acts) : edges.filter(({ kind }) => kind === "forward")),
      ...edges.filter(({ kind }) => kind !== "forward"),
    ],
  };
}

/** If the definition is not registered here, the steps are those that the run's state names. */
function namedIn({ completedSteps, failure, lateSteps, undoSteps }: FlowState): readonly FlowStepView[] {
  const further = [...(failure ? [failure.step] : []), ...lateSteps];
  const names = new Set([...completedSteps, ...undoSteps.toReversed(), ...further]);
  return [...names].map((name) => ({
    name,
    handler: undefined,
    command: undefined,
    undo: "none",
    takes: [],
    gives: [],
  }));
}

function planOf(steps: readonly FlowStepView[]): FlowPlan {
  return { trigger: steps[0]?.takes[0] ?? "", steps };
}

/** From each step to those that take what it gives: they begin with all of their events, or are of another branch. */
function forwardEdges(plan: FlowPlan, state: FlowState, acts: readonly GraphNode[]): GraphEdge[] {
  const edges: GraphEdge[] = [];
  const add = (from: string, to: string, taken: boolean): void => {
    const known = edges.findIndex((edge) => edge.from === from && edge.to === to);
    if (known >= 0)
      edges.splice(known, 1, { from, to, kind: "forward", taken: taken || edges[known]?.taken === true });
    else edges.push({ from, to, kind: "forward", taken });
  };
  const hasBegun = (name: string): boolean =>
    acts.some(({ step, state: at }) => step === name && at !== "none" && at !== "skipped");
  for (const { name, takes } of plan.steps)
    if (takes.includes(plan.trigger)) add("start", `act:${name}`, hasBegun(name));
  for (const step of plan.steps) {
    const answer = state.completedSteps.includes(step.name)
      ? answerOf(step, state.answers[step.name])
      : undefined;
    for (const event of step.gives) {
      const followers = plan.steps.slice(1).filter(({ takes }) => takes.includes(event));
      for (const { name } of followers)
        add(`act:${step.name}`, `act:${name}`, answer === event && hasBegun(name));
      if (followers.length === 0)
        add(`act:${step.name}`, "completed", answer === event && state.status === "completed");
    }
  }
  return edges;
}

function actState(
  state: FlowState,
  { name }: FlowStepView,
  path: Path,
  delivery: SentEvent | undefined,
): NodeState {
  if (state.completedSteps.includes(name)) return "done";
  if (state.lateSteps.includes(name)) return "running";
  if (state.failure?.step === name) return "failed";
  if (path.notTaken.includes(name)) return "skipped";
  const isAwaited = state.status === "running" && path.due.includes(name);
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
