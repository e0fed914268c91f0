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

/** From each act to the next; steps of a group stand beside each other, and the way leads through all of them. */
function forward({ acts, ended }: Ways): GraphEdge[] {
  const edges: GraphEdge[] = [];
  let from: readonly string[] = ["start"];
  for (const row of rowsOf(acts)) {
    for (const act of row) edges.push(...from.map((id) => forwardEdge(id, act.id, hasBegun(act))));
    from = row.map(({ id }) => id);
  }
  return [...edges, ...from.map((id) => forwardEdge(id, "completed", ended === "completed"))];
}

function forwardEdge(from: string, to: string, taken: boolean): GraphEdge {
  return { from, to, kind: "forward", taken };
}

function rowsOf(acts: readonly GraphNode[]): readonly (readonly GraphNode[])[] {
  const rows: GraphNode[][] = [];
  for (const act of acts) {
    const last = rows.at(-1);
    if (last && act.group !== null && last[0]?.group === act.group) last.push(act);
    else rows.push([act]);
  }
  return rows;
}

/** From each act that may fail to the first undo, and from undo to undo to the end. */
function backward({ acts, undos, pivot, ended }: Ways): GraphEdge[] {
  const turnedAt = acts.findLastIndex(hasBegun);
  const edges: GraphEdge[] = [];
  for (const [index, act] of acts.entries()) {
    if (pivot >= 0 && index > pivot) break;
    const isTurn = index === turnedAt;
    // The undo that was called first, where one was; else the one that would be, after all of its group.
    const end = act.group === null ? index : acts.findLastIndex(({ group }) => group === act.group);
    const first =
      (isTurn ? undos.findLast(hasBegun) : undefined) ?? undos.slice(0, end + 1).findLast((node) => node);
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
    group: null,
    state,
    attempts: 0,
    startedAt: null,
    endedAt: null,
  };
}
