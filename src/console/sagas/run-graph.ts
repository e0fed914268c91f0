/** A run as a graph: acts and undos, the edges between them, and which edges the run took. */
import type { GraphEdge, GraphNode } from "../contract.ts";

export interface Ways {
  readonly acts: readonly GraphNode[];
  /** Beside each act its undo, where it has one. */
  readonly undos: readonly (GraphNode | undefined)[];
  /** The index of the act after which nothing turns back; -1 where there is none. */
  readonly pivot: number;
  readonly ended: "completed" | "failed" | undefined;
  /** The indexes of acts that take the place of the one before them. */
  readonly fallbacks?: ReadonlySet<number> | undefined;
}

export function edgesOf(ways: Ways): readonly GraphEdge[] {
  return [...forward(ways), ...backward(ways)];
}

/**
 * From each act to the next; steps of a group are parallel, and edges lead through all of them. The edge skips a
 * fallback if the step before it is done, and leads through the fallback otherwise.
 */
function forward({ acts, ended, fallbacks = new Set() }: Ways): GraphEdge[] {
  const rows = rowsOf(acts);
  const edges: GraphEdge[] = [];
  const firstOf = (row: number): GraphNode | undefined => rows[row]?.[0];
  const isFallback = (row: number): boolean =>
    fallbacks.has(acts.findIndex((act) => act === firstOf(row) && row >= 0));
  const add = (from: number, to: number, taken: boolean): void => {
    const ids = rows[from]?.map(({ id }) => id) ?? ["start"];
    for (const act of rows[to] ?? [undefined]) {
      const isGone = act ? hasBegun(act) : ended === "completed";
      edges.push(...ids.map((id) => forwardEdge(id, act?.id ?? "completed", taken && isGone)));
    }
  };
  for (let from = -1; from < rows.length; from++) {
    if (!isFallback(from + 1)) {
      add(from, from + 1, !isFallback(from) || hasBegun(firstOf(from)));
      continue;
    }
    add(from, from + 1, true);
    add(from, from + 2, !hasBegun(firstOf(from + 1)));
  }
  return edges;
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
function backward(ways: Ways): GraphEdge[] {
  const { acts, undos, pivot, ended } = ways;
  const turnedAt = acts.findLastIndex(hasBegun);
  const isCalled = (undo: GraphNode | undefined, at: number): boolean =>
    hasBegun(undo) && !isCleared(ways, at);
  const edges: GraphEdge[] = [];
  for (const [index, act] of acts.entries()) {
    if (pivot >= 0 && index > pivot && !act.pivot) break;
    const own = undos[index];
    if (own && isCleared(ways, index)) {
      edges.push({ from: act.id, to: own.id, kind: "turn", taken: hasBegun(own) });
      continue;
    }
    const isTurn = index === turnedAt;
    // The undo that was called first, where one was; else the one that would be, after all of its group.
    const end = act.group === null ? index : acts.findLastIndex(({ group }) => group === act.group);
    const first =
      (isTurn ? undos.findLast(isCalled) : undefined) ?? undos.slice(0, end + 1).findLast((node) => node);
    const gone = isTurn && (first ? isCalled(first, undos.indexOf(first)) : ended === "failed");
    edges.push({ from: act.id, to: first?.id ?? "failed", kind: "turn", taken: gone });
  }
  for (const [index, undo] of [...undos.entries()].toReversed()) {
    if (!undo) continue;
    const then = wayBack(ways, index);
    const called = then.filter((at) => isCalled(undos[at], at));
    for (const at of then) {
      const isNext = called.length === 0 ? at < 0 && ended === "failed" : called.includes(at);
      const to = undos[at]?.id ?? "failed";
      edges.push({ from: undo.id, to, kind: "back", taken: isCalled(undo, index) && isNext });
    }
  }
  return edges;
}

/** It gave way to its fallback, and was undone before that began. */
function isCleared({ acts, fallbacks }: Ways, index: number): boolean {
  return fallbacks?.has(index + 1) === true && hasBegun(acts[index + 1]);
}

/** The undos that may follow on this one; -1 where none does. Of an act and its fallback only one is undone. */
function wayBack(ways: Ways, index: number): readonly number[] {
  const { undos, fallbacks } = ways;
  const last = fallbacks?.has(index) === true ? index - 2 : index - 1;
  if (last < 0) return [-1];
  const branches = fallbacks?.has(last) === true ? [last, last - 1] : [last];
  return [...new Set(branches.flatMap((one) => (undos[one] ? [one] : wayBack(ways, one))))];
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
