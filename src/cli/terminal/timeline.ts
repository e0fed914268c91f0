/**
 * What happened to a saga on a time axis of characters: one line per call, its bar where it ran. Time in which nothing
 * ran is pressed together, so that a wait of days does not hide what took milliseconds.
 */
import type { TimelineLine } from "../../console/contract.ts";
import { ink, paint, type Colour, type Ink } from "./ink.ts";
import { span } from "./words.ts";

interface CallLine {
  readonly name: string;
  readonly undo: boolean;
  readonly attempt: number;
  readonly startMs: number;
  /** Undefined while it runs, or where it was lost with its worker. */
  endMs: number | undefined;
  status: "running" | "waiting" | "done" | "failed" | "lost";
  note: string | undefined;
}

type Line = { readonly call: CallLine } | { readonly control: TimelineLine };

const BAR_MIN = 10;
const BAR_MAX = 60;
const BAR_UNBOUND = 40;

/** Where the saga stands: it says what a call without an end means. */
export interface Snapshot {
  readonly nowMs: number;
  /** Nothing goes on by itself: the axis ends at the last line. */
  readonly isAtRest: boolean;
  /** The step that waits for a signal, an event or time. */
  readonly waitingStep: string | undefined;
  /** A worker has the saga. */
  readonly isLeased: boolean;
}

export function timeline(
  lines: readonly TimelineLine[],
  snapshot: Snapshot,
  width: number | undefined,
): readonly Ink[] {
  const { nowMs, isAtRest: isOver } = snapshot;
  const rows = rowsOf(lines, snapshot);
  const calls = rows.flatMap((row) => ("call" in row ? [row.call] : []));
  if (rows.length === 0) return [];
  const lastMs = Math.max(...lines.map(({ at }) => Date.parse(at)));
  const place = axis(calls, isOver ? lastMs : nowMs);
  const labels = calls.map(labelOf);
  const labelWidth = Math.max(0, ...labels.map((label) => label.width));
  const room =
    width === undefined ? BAR_UNBOUND : Math.max(BAR_MIN, Math.min(BAR_MAX, width - labelWidth - 30));
  const lineOf = (row: Line): Ink => {
    if ("control" in row) return controlLine(row.control, labelWidth, place, room);
    const { call } = row;
    const label = (labels[calls.indexOf(call)] as Ink).sized(labelWidth);
    return ink`  ${label}  ${bar(call, place, room)}  ${endOf(call, isOver ? lastMs : nowMs)}`;
  };
  return rows
    .map(lineOf)
    .map((line) => (width !== undefined && line.width > width ? line.sized(width) : line));
}

/** Each beginning with its end. A call that began again was lost the first time. */
function rowsOf(
  lines: readonly TimelineLine[],
  { isAtRest, waitingStep, isLeased }: Snapshot,
): readonly Line[] {
  const rows: Line[] = [];
  const open = new Map<string, CallLine>();
  const tries = new Map<string, number>();
  for (const line of lines) {
    if (line.kind === "control") {
      rows.push({ control: line });
      continue;
    }
    const key = `${line.action} ${line.name}`;
    const begunCall = open.get(key);
    if (line.status === "STARTED" && begunCall && line.note?.startsWith("waits for ") === true) {
      begunCall.status = "waiting";
      continue;
    }
    const call = line.status === "STARTED" ? undefined : begunCall;
    if (call) {
      end(call, line);
      open.delete(key);
      continue;
    }
    const attempt = (tries.get(key) ?? 0) + 1;
    tries.set(key, attempt);
    const begun: CallLine = {
      name: line.name,
      undo: line.action === "compensate",
      attempt,
      startMs: Date.parse(line.at),
      endMs: undefined,
      status: "running",
      note: undefined,
    };
    if (line.status === "STARTED") open.set(key, begun);
    else end(begun, line);
    rows.push({ call: begun });
  }
  const current = new Set(open.values());
  for (const call of rows.flatMap((row) => ("call" in row ? [row.call] : []))) {
    if (call.status !== "running") continue;
    if (current.has(call) && call.name === waitingStep && !isAtRest) call.status = "waiting";
    else if (!current.has(call) || !isLeased || isAtRest) call.status = "lost";
  }
  return rows;
}

function end(call: CallLine, { at, status, note }: TimelineLine): void {
  call.endMs = Date.parse(at);
  call.status = status === "COMPLETED" ? "done" : "failed";
  call.note = note ?? undefined;
}

/** Where an instant stands, from 0 to 1. */
function axis(calls: readonly CallLine[], untilMs: number): (ms: number) => number {
  const edges = [...new Set(calls.flatMap(({ startMs, endMs }) => [startMs, endMs ?? untilMs]))].toSorted(
    (a, b) => a - b,
  );
  const stretches = edges.slice(1).map((to, index) => {
    const from = edges[index] as number;
    const isBusy = calls.some(
      ({ startMs, endMs, status }) => status !== "waiting" && startMs <= from && (endMs ?? untilMs) >= to,
    );
    return { from, to, isBusy };
  });
  const busy = stretches.reduce((sum, { from, to, isBusy }) => sum + (isBusy ? to - from : 0), 0);
  const idleMax = Math.max(1, busy / 10);
  const lengths = stretches.map(({ from, to, isBusy }) =>
    isBusy ? to - from : Math.min(to - from, idleMax),
  );
  const whole = Math.max(
    1,
    lengths.reduce((sum, one) => sum + one, 0),
  );
  return (ms) => {
    let before = 0;
    for (const [index, { from, to }] of stretches.entries()) {
      const length = lengths[index] as number;
      if (ms < to) return (before + (length * Math.max(0, ms - from)) / (to - from)) / whole;
      before += length;
    }
    return before / whole;
  };
}

const COLOURS: Readonly<Record<CallLine["status"], Colour>> = {
  running: "blue",
  waiting: "dim",
  lost: "blue",
  done: "green",
  failed: "red",
};

function bar({ startMs, endMs, status, undo }: CallLine, place: (ms: number) => number, room: number): Ink {
  const from = Math.min(room - 1, Math.floor(place(startMs) * room));
  const to = endMs === undefined ? room : Math.max(from + 1, Math.ceil(place(endMs) * room));
  const colour = undo && status === "done" ? "magenta" : COLOURS[status];
  const sign = undo ? "◀" : endMs === undefined ? "▶" : "█";
  const body = (status === "waiting" ? "░" : "█").repeat(to - from - 1);
  const drawn = undo ? `◀${body}` : `${body}${sign}`;
  return ink`${" ".repeat(from)}${paint(colour, drawn)}${" ".repeat(room - to)}`;
}

function labelOf({ name, undo, attempt }: CallLine): Ink {
  const tried = attempt === 1 ? ink`` : paint("dim", ` #${attempt}`);
  return undo ? ink`${paint("magenta", "undo")} ${name}${tried}` : ink`${name}${tried}`;
}

function endOf({ startMs, endMs, status, note }: CallLine, untilMs: number): Ink {
  const took = span((endMs ?? untilMs) - startMs);
  if (status === "waiting") return paint("dim", `has waited for ${took}`);
  if (status === "running") return paint("dim", `began ${took} ago`);
  if (status === "lost") return paint("dim", "began, and did not end");
  if (status === "failed") return ink`${took} ${paint("red", `✗ ${note ?? "failed"}`)}`;
  return ink`${took}`;
}

function controlLine(
  { at, name, note, by, step }: TimelineLine,
  labelWidth: number,
  place: (ms: number) => number,
  room: number,
): Ink {
  const words = [name, step, by === null ? null : `by ${by}`].filter((word) => word !== null).join(" ");
  const mark = Math.min(room - 1, Math.floor(place(Date.parse(at)) * room));
  const text = note === null ? words : `${words}: ${note}`;
  return ink`  ${" ".repeat(labelWidth)}  ${" ".repeat(mark)}${paint("cyan", "◆")}${" ".repeat(room - mark - 1)}  ${paint("cyan", text)}`;
}
