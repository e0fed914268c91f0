/** A saga as a picture: the way forward, the way back, and which parts of them were gone. */
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaView, TimelineEntry } from "../../sagas/view/view.ts";
import type { Graph, GraphNode } from "../contract.ts";
import { edgesOf, endNode } from "./run-graph.ts";

type Seen = Pick<SagaView, "plan" | "timeline" | "status"> & Partial<Pick<SagaView, "error">>;
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
function stateOf(
  { status, error }: Seen,
  last: TimelineEntry | undefined,
  action: Action,
): GraphNode["state"] {
  if (!last) return "none";
  if (last.status === "COMPLETED") return "done";
  if (last.fallback !== undefined) return "failed";
  // Going forward, only what stands in a fallback's way is undone.
  const isForward = status === "RUNNING" || status === "PENDING";
  const isOpen = isForward || (action === "compensate" && status === "COMPENSATING");
  if (!isOpen) return "failed";
  // Of a group, one has failed and others are still waited for: nothing of it is tried again.
  if (action === "act" && error && last.status === "FAILED") return "failed";
  return last.status === "STARTED" ? "running" : "retrying";
}
