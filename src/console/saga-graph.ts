/** A saga as a picture: the way forward, the way back, and which parts of them were gone. */
import type { PlannedStep } from "../core/saga/plan.ts";
import type { SagaView, TimelineEntry } from "../sagas/view.ts";
import type { Graph, GraphEdge, GraphNode } from "./contract.ts";

type Seen = Pick<SagaView, "plan" | "timeline" | "status">;
type Action = TimelineEntry["action"];

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
  return { nodes, edges: [...forward(view, acts), ...backward(view, acts, undos)] };
}

function forward({ status }: Seen, acts: readonly GraphNode[]): GraphEdge[] {
  const way = ["start", ...acts.map(({ id }) => id), "completed"];
  return way.slice(1).map((to, index) => ({
    from: way[index] as string,
    to,
    kind: "forward",
    taken: to === "completed" ? status === "COMPLETED" : hasBegun(acts[index]),
  }));
}

/** From each act that may fail to the first undo, and from undo to undo to the end. */
function backward(
  { plan, status }: Seen,
  acts: readonly GraphNode[],
  undos: readonly (GraphNode | undefined)[],
): GraphEdge[] {
  const pivot = plan.findIndex((step) => step.pivot);
  const turnedAt = acts.findLastIndex(hasBegun);
  const edges: GraphEdge[] = [];
  for (const [index, act] of acts.entries()) {
    if (pivot >= 0 && index > pivot) break;
    const isTurn = index === turnedAt;
    // The undo that was called first, where one was; else the one that would be.
    const first =
      (isTurn ? undos.findLast(hasBegun) : undefined) ?? undos.slice(0, index + 1).findLast((node) => node);
    const gone = isTurn && (first ? hasBegun(first) : status === "FAILED");
    edges.push({ from: act.id, to: first?.id ?? "failed", kind: "turn", taken: gone });
  }
  const back = undos.filter((node) => node !== undefined).toReversed();
  for (const [index, undo] of back.entries()) {
    const next = back[index + 1];
    const taken = hasBegun(undo) && (next ? hasBegun(next) : status === "FAILED");
    edges.push({ from: undo.id, to: next?.id ?? "failed", kind: "back", taken });
  }
  return edges;
}

function hasBegun(node: GraphNode | undefined): boolean {
  return node !== undefined && node.state !== "none";
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
    state: wasSkipped(view, step, action) ? "skipped" : stateOf(view, last, action),
    attempts: lines.filter((line) => line.status === "STARTED").length,
    startedAt: started?.at.toISOString() ?? null,
    endedAt: last && last.status !== "STARTED" ? last.at.toISOString() : null,
  };
}

function callsOf({ timeline }: Seen, { name }: PlannedStep, action: Action): readonly TimelineEntry[] {
  return timeline.filter((line) => line.kind === "step" && line.name === name && line.action === action);
}

/** A person who skips a step takes over its undo, where that was begun, and else its act. */
function wasSkipped(view: Seen, step: PlannedStep, action: Action): boolean {
  const skips = view.timeline.some(
    (line) => line.kind === "control" && line.name === "skip" && line.step === step.name,
  );
  return skips && callsOf(view, step, "compensate").length > 0 === (action === "compensate");
}

/** A call that began and was never heard of again has failed, as far as anybody knows, once nobody works on it. */
function stateOf({ status }: Seen, last: TimelineEntry | undefined, action: Action): GraphNode["state"] {
  if (!last) return "none";
  if (last.status === "COMPLETED") return "done";
  const isOpen =
    action === "compensate" ? status === "COMPENSATING" : status === "RUNNING" || status === "PENDING";
  if (!isOpen) return "failed";
  return last.status === "STARTED" ? "running" : "retrying";
}

function endNode(id: string, kind: "start" | "end", state: GraphNode["state"]): GraphNode {
  return {
    id,
    kind,
    step: null,
    label: id,
    pivot: false,
    state,
    attempts: 0,
    startedAt: null,
    endedAt: null,
  };
}
