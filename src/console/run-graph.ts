/** A run as a picture: from acts and undos to the ways between them, and which of those were gone. */
import type { GraphEdge, GraphNode } from "./contract.ts";

export interface Ways {
  readonly acts: readonly GraphNode[];
  /** Beside each act its undo, where it has one. */
  readonly undos: readonly (GraphNode | undefined)[];
  /** The index of the act after which nothing turns back; -1 where there is none. */
  readonly pivot: number;
  readonly ended: "completed" | "failed" | undefined;
}

export function edgesOf(ways: Ways): readonly GraphEdge[] {
  return [...forward(ways), ...backward(ways)];
}

function forward({ acts, ended }: Ways): GraphEdge[] {
  const way = ["start", ...acts.map(({ id }) => id), "completed"];
  return way.slice(1).map((to, index) => ({
    from: way[index] as string,
    to,
    kind: "forward",
    taken: to === "completed" ? ended === "completed" : hasBegun(acts[index]),
  }));
}

/** From each act that may fail to the first undo, and from undo to undo to the end. */
function backward({ acts, undos, pivot, ended }: Ways): GraphEdge[] {
  const turnedAt = acts.findLastIndex(hasBegun);
  const edges: GraphEdge[] = [];
  for (const [index, act] of acts.entries()) {
    if (pivot >= 0 && index > pivot) break;
    const isTurn = index === turnedAt;
    // The undo that was called first, where one was; else the one that would be.
    const first =
      (isTurn ? undos.findLast(hasBegun) : undefined) ?? undos.slice(0, index + 1).findLast((node) => node);
    const gone = isTurn && (first ? hasBegun(first) : ended === "failed");
    edges.push({ from: act.id, to: first?.id ?? "failed", kind: "turn", taken: gone });
  }
  const back = undos.filter((node) => node !== undefined).toReversed();
  for (const [index, undo] of back.entries()) {
    const next = back[index + 1];
    const taken = hasBegun(undo) && (next ? hasBegun(next) : ended === "failed");
    edges.push({ from: undo.id, to: next?.id ?? "failed", kind: "back", taken });
  }
  return edges;
}

function hasBegun(node: GraphNode | undefined): boolean {
  return node !== undefined && node.state !== "none";
}

export function endNode(id: string, kind: "start" | "end", state: GraphNode["state"]): GraphNode {
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
