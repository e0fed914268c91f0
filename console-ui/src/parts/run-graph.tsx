/** The run as a graph: green for steps that ran, copper for the rollback, dashed lines for paths not taken. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Graph, GraphNode } from "../../../src/console/contract.ts";
import { now } from "../store/clock.ts";
import type { Tone } from "../store/states.ts";
import { formatAttempts, formatDuration } from "../store/format.ts";
import { layoutGraph, type Box, type Direction, type GraphLayout } from "./graph-layout.ts";
import { fit } from "./text-fit.ts";

const NARROW = 620;
const LABEL_X = 32;
/** A graph that is a little too wide is drawn smaller; a wider one scrolls, at its full size. */
const SHRUNK_MIN = 0.8;
const SHRUNK_WIDTH_MAX = 1_250;
/** As run-graph.css has them. */
const LABEL_FONT = "600 12.5px";
const NOTE_FONT = "400 11px";

interface Props {
  readonly graph: Graph;
  readonly label: string;
  /** The step that waits for a signal, an event or a time. */
  readonly waiting?: string | undefined;
  /** The reader chose a step. */
  readonly onStep?: (step: string) => void;
}

export function RunGraph({ graph, label, waiting, onStep }: Props): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const direction = useDirection(frame);
  // The layout depends on the structure alone: a state that changes must not move a box.
  const structure = graph.nodes.map(({ id }) => id).join("\n");
  const still = useMemo(() => layoutGraph(graph, direction), [structure, direction]);
  useScrollToCurrent(frame, still, graph);
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const taken = new Set(graph.edges.filter((edge) => edge.taken).map(({ from, to }) => `${from} ${to}`));
  const { width, height } = still;
  return (
    <div class="run-graph" ref={frame} tabIndex={0} role="group" aria-label={label}>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        style={{ minWidth: width > SHRUNK_WIDTH_MAX ? width : width * SHRUNK_MIN }}
        role="img"
        aria-label={label}
      >
        <defs>
          {(["line", "sea", "copper"] as const).map((tone) => (
            <marker
              key={tone}
              id={`tip-${tone}`}
              viewBox="0 0 8 8"
              refX="6.5"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto"
            >
              <path class={`tip-${tone}`} d="M1 1 6.5 4 1 7" />
            </marker>
          ))}
        </defs>
        {still.lines
          .toSorted((one, other) => Number(isTaken(taken, one.edge)) - Number(isTaken(taken, other.edge)))
          .map(({ edge, path }) => {
            const gone = isTaken(taken, edge);
            const tone = gone ? (edge.kind === "forward" ? "sea" : "copper") : "line";
            return (
              <path
                key={`${edge.from} ${edge.to}`}
                class="edge"
                data-kind={edge.kind}
                data-taken={gone}
                d={path}
                marker-end={`url(#tip-${tone})`}
              />
            );
          })}
        {still.boxes.map((box) => {
          const node = nodes.get(box.node.id) ?? box.node;
          return (
            <NodeBox key={node.id} box={box} node={node} waits={node.step === waiting} onStep={onStep} />
          );
        })}
      </svg>
    </div>
  );
}

function isTaken(
  taken: ReadonlySet<string>,
  { from, to }: { readonly from: string; readonly to: string },
): boolean {
  return taken.has(`${from} ${to}`);
}

function useDirection(frame: { readonly current: HTMLDivElement | null }): Direction {
  const [direction, setDirection] = useState<Direction>(innerWidth < NARROW ? "down" : "across");
  useEffect(() => {
    if (!frame.current) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setDirection(entry.contentRect.width < NARROW ? "down" : "across");
    });
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return direction;
}

const CURRENT: ReadonlySet<string> = new Set(["failed", "running", "retrying"]);

/** A wide graph opens at the step that runs or failed. Afterwards only the reader scrolls it. */
function useScrollToCurrent(
  frame: { readonly current: HTMLDivElement | null },
  { boxes, width }: GraphLayout,
  { nodes }: Graph,
): void {
  useEffect(() => {
    const current = nodes.findLast(({ kind, state }) => kind !== "end" && CURRENT.has(state));
    const box = boxes.find(({ node }) => node.id === current?.id);
    if (!frame.current || !box) return;
    const { clientWidth, scrollWidth } = frame.current;
    frame.current.scrollLeft = ((box.x + box.width / 2) / width) * scrollWidth - clientWidth / 2;
  }, [boxes]);
}

interface NodeProps {
  readonly box: Box;
  readonly node: GraphNode;
  readonly waits: boolean;
  readonly onStep: ((step: string) => void) | undefined;
}

function NodeBox({ box, node, waits, onStep }: NodeProps): JSX.Element {
  const { x, y, width, height } = box;
  const step = node.step;
  const isStep = node.kind === "act" || node.kind === "undo";
  const choose = onStep && step !== null ? () => onStep(step) : undefined;
  return (
    <g
      class="node"
      data-kind={node.kind}
      data-state={node.state}
      data-tone={toneOf(node)}
      data-node={node.id}
      transform={`translate(${x} ${y})`}
      onClick={choose}
      data-clickable={choose !== undefined}
    >
      <title>{titleOf(node, waits)}</title>
      <rect width={width} height={height} rx={isStep ? 10 : height / 2} />
      {node.pivot && (
        <path class="pivot" d={`M${width - 14} -5l5 5-5 5-5-5z`}>
          <title>Pivot: after this step the saga only goes forward</title>
        </path>
      )}
      {isStep ? (
        <>
          <Glyph node={node} />
          <text class="node-label" x={LABEL_X} y={21}>
            {fit(node.kind === "undo" ? (step ?? node.label) : node.label, width - LABEL_X - 8, LABEL_FONT)}
          </text>
          <text class="node-note" x={LABEL_X} y={37}>
            {fit(noteOf(node, waits), width - LABEL_X - 8, NOTE_FONT)}
          </text>
        </>
      ) : (
        <text class="node-label" x={width / 2} y={height / 2 + 4} text-anchor="middle">
          {fit(node.label, width - 16, LABEL_FONT)}
        </text>
      )}
    </g>
  );
}

const glyphs: Readonly<Record<GraphNode["state"], string>> = {
  none: "M13 25h8",
  running: "",
  retrying: "M21 21.5v3h-3M21 24.5a4.5 4.5 0 1 0 0 2.5",
  done: "M13 25.5l3 3 5.5-6.5",
  failed: "M14 22l6 6M20 22l-6 6",
  skipped: "M13 21.5l4 3.5-4 3.5zM20.5 21.5v7",
};

function Glyph({ node }: { readonly node: GraphNode }): JSX.Element {
  if (node.state === "running") return <circle class="node-live" cx={17} cy={25} r={4.5} />;
  return <path class="node-glyph" d={glyphs[node.state]} />;
}

function toneOf({ kind, state, id }: GraphNode): Tone {
  if (state === "none") return "stone";
  if (state === "failed") return "rose";
  if (state === "skipped") return "stone";
  if (kind === "undo" || id === "failed") return "copper";
  if (state === "running") return "sky";
  if (state === "retrying") return "copper";
  return "sea";
}

const words: Readonly<Record<GraphNode["state"], readonly [act: string, undo: string]>> = {
  none: ["not started", "undo"],
  running: ["running", "undoing"],
  retrying: ["retrying", "retrying undo"],
  done: ["done", "undone"],
  failed: ["failed", "undo failed"],
  skipped: ["skipped", "skipped"],
};

function wordOf({ state, kind }: GraphNode, waits: boolean): string {
  if (waits && kind === "act" && state === "running") return "waiting";
  return words[state][kind === "undo" ? 1 : 0];
}

function titleOf(node: GraphNode, waits: boolean): string {
  const attempts = node.attempts > 1 ? `, ${formatAttempts(node.attempts)}` : "";
  const group = node.group === null ? "" : `, in group ${node.group}`;
  return `${node.label}: ${wordOf(node, waits)}${attempts}${group}`;
}

function noteOf(node: GraphNode, waits: boolean): string {
  const word = wordOf(node, waits);
  const attempts = node.attempts > 1 ? ` (${node.attempts}×)` : "";
  const { startedAt, endedAt } = node;
  if (startedAt === null) return `${word}${attempts}`;
  const untilMs = endedAt === null ? now.value : Date.parse(endedAt);
  const span = formatDuration(untilMs - Date.parse(startedAt));
  return attempts === "" ? `${word} · ${span}` : `${word}${attempts}`;
}
