/** A saga as a graph: the steps forward, the undos back, and which edges the run took. */
import { isPart, stepOf } from "../../core/saga/part-name.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaView, TimelineEntry } from "../../sagas/view/view.ts";
import type { Graph, GraphNode, StepLine } from "../contract.ts";
import { edgesOf, endNode } from "./run-graph.ts";
import type { RunLine } from "../../sagas/read/run/lines.ts";

type Seen = Pick<SagaView, "plan" | "timeline" | "status"> & Partial<Pick<SagaView, "error">>;
type Action = TimelineEntry["action"];

/** The same, from lines without instants. */
interface Run<Line extends RunLine = RunLine> extends Pick<SagaView, "plan" | "status"> {
  readonly timeline: readonly Line[];
  readonly error?: unknown;
}

export function graphOf(view: Seen): Graph {
  const { plan, status } = view;
  const acts = plan.map((step) => callNode(view, step, "act"));
  const undos = plan.map((step) => (step.undo ? callNode(view, step, "compensate") : undefined));
  const nodes = [
    endNode("start", "start", "done"),
    ...acts,
    ...undos.filter((node) => node !== undefined),
    endNode("completed", "end", status === "COMPLETED" ? "done" : "none"),
    endNode("failed", "end", status === "FAILED" ? "done" : "none"),
  ];
  const ended = status === "COMPLETED" ? "completed" : status === "FAILED" ? "failed" : undefined;
  const pivot = plan.findIndex((step) => step.pivot);
  const fallbacks = new Set([...plan.keys()].filter((index) => plan[index]?.instead !== undefined));
  return { nodes, edges: edgesOf({ acts, undos, pivot, ended, fallbacks }) };
}

function callNode(view: Seen, step: PlannedStep, action: Action): GraphNode {
  const isUndo = action === "compensate";
  const lines = callsOf(view, step, action);
  const started = lines.findLast((line) => line.status === "STARTED");
  const last = lines.at(-1);
  return {
    id: `${isUndo ? "undo" : "act"}:${step.name}`,
    kind: isUndo ? "undo" : "act",
    step: step.name,
    label: step.name,
    pivot: !isUndo && step.pivot,
    group: step.group?.name ?? null,
    state: callState(view, step, action),
    attempts: lines.filter((line) => line.status === "STARTED").length,
    startedAt: started?.at.toISOString() ?? null,
    endedAt: last && last.status !== "STARTED" ? last.at.toISOString() : null,
  };
}

/** The state of each step: that of its undo if the undo has begun, else that of its act. */
export function stepLines(run: Run): readonly StepLine[] {
  return run.plan.map((step) => {
    const undo = callState(run, step, "compensate");
    const state = undo === "none" ? callState(run, step, "act") : UNDO[undo];
    return { name: step.name, state };
  });
}

const UNDO: Readonly<Record<Exclude<GraphNode["state"], "none">, NonNullable<StepLine["state"]>>> = {
  running: "undoing",
  retrying: "undoing",
  done: "undone",
  failed: "undo-failed",
  skipped: "skipped",
};

function callState(run: Run, step: PlannedStep, action: Action): GraphNode["state"] {
  const last = partsOf(run, step, action).at(-1) ?? callsOf(run, step, action).at(-1);
  return wasSkipped(run, step, action) ? "skipped" : stateOf(run, last, action);
}

/** The calls of the items of a list, or of rounds: they say how the step stands. */
function partsOf({ timeline }: Run, { name, each, repeat }: PlannedStep, action: Action): readonly RunLine[] {
  if (!each && !repeat) return [];
  return timeline.filter(
    (line) =>
      line.kind === "step" && isPart(line.name) && stepOf(line.name) === name && line.action === action,
  );
}

function callsOf<Line extends RunLine>(
  { timeline }: Run<Line>,
  { name }: PlannedStep,
  action: Action,
): readonly Line[] {
  return timeline.filter((line) => line.kind === "step" && line.name === name && line.action === action);
}

/** A skip replaces the undo of a step if the undo has begun, else its act. */
function wasSkipped(view: Run, step: PlannedStep, action: Action): boolean {
  const skips = view.timeline.some(
    (line) => line.kind === "control" && line.name === "skip" && line.step === step.name,
  );
  return skips && callsOf(view, step, "compensate").length > 0 === (action === "compensate");
}

/** A call that began and has no recorded end counts as failed once no worker owns the saga. */
function stateOf({ status, error }: Run, last: RunLine | undefined, action: Action): GraphNode["state"] {
  if (!last) return "none";
  if (
    last.status === "COMPLETED" ||
    (status === "COMPLETED" && action === "act" && last.status === "STARTED")
  )
    return "done";
  if (last.fallback !== undefined) return "failed";
  // Going forward, only a step that its fallback replaces is undone.
  const isForward = status === "RUNNING" || status === "PENDING";
  const isOpen = isForward || (action === "compensate" && status === "COMPENSATING");
  if (!isOpen) return "failed";
  // Of a group, one has failed and others are still waited for: nothing of it is tried again.
  if (action === "act" && error && last.status === "FAILED") return "failed";
  return last.status === "STARTED" ? "running" : "retrying";
}
