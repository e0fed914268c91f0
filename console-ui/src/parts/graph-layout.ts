/**
 * The layout of a run's graph. Dagre lays out the acts; the undos run beside them, each next to its act, so that it is
 * clear what undoes what. Acts that run in parallel have their undos in a row, one behind the other. Pure: the same
 * graph always has the same layout.
 */
import { graphlib, layout } from "@dagrejs/dagre";
import type { Graph, GraphEdge, GraphNode } from "../../../src/console/contract.ts";

export interface Box {
  readonly node: GraphNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Line {
  readonly edge: GraphEdge;
  readonly path: string;
}

export interface GraphLayout {
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

/** `across` reads from left to right with the rollback beneath; `down` is for narrow screens, with the rollback at the right. */
export type Direction = "across" | "down";

/** Two steps side by side fit a phone of 375 pixels. */
const STEP = { across: { width: 156, height: 50 }, down: { width: 144, height: 50 } } as const;
const END = { width: 100, height: 34 } as const;
const GAP = 34;
const BESIDE = 18;
const LANE = { across: 44, down: 22 } as const;
const MARGIN = 6;
const RADIUS = 9;

export function layoutGraph(graph: Graph, direction: Direction): GraphLayout {
  const forward = graph.nodes.filter((node) => node.kind !== "undo" && node.id !== "failed");
  const placed = place(forward, graph.edges, direction);
  const lane = direction === "across" ? bottomOf(placed) + LANE.across : rightOf(placed) + LANE.down;
  const centres = new Map(placed.map((box) => [box.node.id, box]));
  const boxes: Box[] = [...placed];
  const back = graph.nodes.flatMap((node) => {
    if (node.kind !== "undo" && node.id !== "failed") return [];
    const above = centres.get(node.id === "failed" ? "start" : `act:${node.step ?? ""}`) ?? placed[0];
    return above ? [{ node, above, at: Math.round(direction === "across" ? above.x : above.y) }] : [];
  });
  const rows = new Map<number, number>();
  // The last one is undone first: it stands next to the acts.
  for (const { node, above, at } of back.toReversed()) {
    const { width, height } = sizeOf(node, direction);
    const before = rows.get(at) ?? 0;
    rows.set(at, before + 1);
    boxes.push(
      direction === "across"
        ? {
            node,
            width,
            height,
            x: above.x + (above.width - width) / 2,
            y: lane + before * (STEP.across.height + BESIDE) + (STEP.across.height - height) / 2,
          }
        : {
            node,
            width,
            height,
            x: lane + before * (STEP.down.width + BESIDE),
            y: above.y + (above.height - height) / 2,
          },
    );
  }
  const all = new Map(boxes.map((box) => [box.node.id, box]));
  const lines = graph.edges.flatMap((edge) => {
    const from = all.get(edge.from);
    const to = all.get(edge.to);
    return from && to ? [{ edge, path: pathOf(edge, from, to, direction) }] : [];
  });
  return { boxes, lines, width: rightOf(boxes) + MARGIN, height: bottomOf(boxes) + MARGIN };
}

function place(nodes: readonly GraphNode[], edges: readonly GraphEdge[], direction: Direction): Box[] {
  const plan = new graphlib.Graph();
  plan.setGraph({
    rankdir: direction === "across" ? "LR" : "TB",
    ranksep: direction === "across" ? GAP : 26,
    nodesep: BESIDE,
    marginx: MARGIN,
    marginy: MARGIN,
  });
  plan.setDefaultEdgeLabel(() => ({}));
  const known = new Set(nodes.map((node) => node.id));
  for (const node of nodes) plan.setNode(node.id, { ...sizeOf(node, direction) });
  for (const { from, to, kind } of edges) {
    if (kind === "forward" && known.has(from) && known.has(to)) plan.setEdge(from, to);
  }
  layout(plan);
  const boxes = nodes.map((node) => {
    const { width, height } = sizeOf(node, direction);
    const { x = 0, y = 0 } = plan.node(node.id) as { readonly x?: number; readonly y?: number };
    return { node, width, height, x: x - width / 2, y: y - height / 2 };
  });
  return inOrder(boxes, direction === "across" ? "y" : "x");
}

/** Acts beside each other stand in the order in which they were written; Dagre does not know it. */
function inOrder(boxes: readonly Box[], side: "x" | "y"): Box[] {
  const free = new Map<string, number[]>();
  for (const box of boxes) {
    const { group } = box.node;
    if (group !== null)
      free.set(
        group,
        [...(free.get(group) ?? []), box[side]].toSorted((a, b) => a - b),
      );
  }
  return boxes.map((box) => {
    const { group } = box.node;
    return group === null ? box : { ...box, [side]: free.get(group)?.shift() ?? box[side] };
  });
}

function sizeOf(node: GraphNode, direction: Direction): { readonly width: number; readonly height: number } {
  return node.kind === "start" || node.kind === "end" ? END : STEP[direction];
}

const bottomOf = (boxes: readonly Box[]): number => Math.max(0, ...boxes.map(({ y, height }) => y + height));
const rightOf = (boxes: readonly Box[]): number => Math.max(0, ...boxes.map(({ x, width }) => x + width));

function pathOf({ kind }: GraphEdge, from: Box, to: Box, direction: Direction): string {
  const across = direction === "across";
  if (kind === "forward") return across ? sideways(right(from), left(to)) : upright(bottom(from), top(to));
  if (kind === "back" && (across ? from.x === to.x : from.y === to.y))
    return across ? beside(from, to, "y", upright) : beside(from, to, "x", sideways);
  if (kind === "back") return across ? sideways(left(from), right(to)) : upright(top(from), bottom(to));
  return across ? upright(bottom(from), top(to)) : sideways(right(from), left(to));
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const left = ({ x, y, height }: Box): Point => ({ x, y: y + height / 2 });
const right = ({ x, y, width, height }: Box): Point => ({ x: x + width, y: y + height / 2 });
const top = ({ x, y, width }: Box): Point => ({ x: x + width / 2, y });
const bottom = ({ x, y, width, height }: Box): Point => ({ x: x + width / 2, y: y + height });

/** Between two that stand one behind the other. */
function beside(from: Box, to: Box, axis: "x" | "y", draw: (from: Point, to: Point) => string): string {
  const isAfter = from[axis] > to[axis];
  if (axis === "y") return isAfter ? draw(top(from), bottom(to)) : draw(bottom(from), top(to));
  return isAfter ? draw(left(from), right(to)) : draw(right(from), left(to));
}

/** Straight where it can be, else with two round corners halfway. */
function sideways(from: Point, to: Point): string {
  if (Math.abs(from.y - to.y) < 1) return `M${from.x} ${from.y}H${to.x}`;
  const middle = (from.x + to.x) / 2;
  const r = Math.min(RADIUS, Math.abs(to.y - from.y) / 2, Math.abs(to.x - from.x) / 2);
  const sx = Math.sign(to.x - from.x) || 1;
  const sy = Math.sign(to.y - from.y);
  return `M${from.x} ${from.y}H${middle - sx * r}Q${middle} ${from.y} ${middle} ${from.y + sy * r}V${to.y - sy * r}Q${middle} ${to.y} ${middle + sx * r} ${to.y}H${to.x}`;
}

function upright(from: Point, to: Point): string {
  if (Math.abs(from.x - to.x) < 1) return `M${from.x} ${from.y}V${to.y}`;
  const middle = (from.y + to.y) / 2;
  const r = Math.min(RADIUS, Math.abs(to.y - from.y) / 2, Math.abs(to.x - from.x) / 2);
  const sx = Math.sign(to.x - from.x);
  const sy = Math.sign(to.y - from.y) || 1;
  return `M${from.x} ${from.y}V${middle - sy * r}Q${from.x} ${middle} ${from.x + sx * r} ${middle}H${to.x - sx * r}Q${to.x} ${middle} ${to.x} ${middle + sy * r}V${to.y}`;
}
