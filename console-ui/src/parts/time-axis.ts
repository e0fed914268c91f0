/**
 * From a saga's timeline to bars on a time axis. Stretches without a call (a sleep of three days, a wait for an operator)
 * are cut and marked, so that calls of milliseconds can still be seen beside them. Pure.
 */
import type { TimelineLine } from "../../../src/console/contract.ts";

export interface Bar {
  readonly fromMs: number;
  /** Undefined while it runs. */
  readonly toMs: number | undefined;
  readonly status: TimelineLine["status"];
  readonly note: string | null;
}

export interface Lane {
  readonly key: string;
  readonly name: string;
  readonly action: TimelineLine["action"];
  readonly bars: readonly Bar[];
}

export interface Mark {
  readonly atMs: number;
  readonly line: TimelineLine;
}

export interface TimelineModel {
  readonly lanes: readonly Lane[];
  readonly marks: readonly Mark[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly running: boolean;
}

export function timelineModel(timeline: readonly TimelineLine[], createdAt: string): TimelineModel {
  const lanes = new Map<string, Lane & { bars: Bar[] }>();
  const marks: Mark[] = [];
  const fromMs = Date.parse(createdAt);
  let toMs = fromMs;
  for (const line of timeline) {
    const atMs = Date.parse(line.at);
    toMs = Math.max(toMs, atMs);
    if (line.kind === "control") {
      marks.push({ atMs, line });
      continue;
    }
    const key = `${line.action} ${line.name}`;
    const lane = lanes.get(key) ?? { key, name: line.name, action: line.action, bars: [] };
    lanes.set(key, lane);
    const last = lane.bars.at(-1);
    const open = last?.toMs === undefined ? last : undefined;
    const bar: Bar = {
      fromMs: line.status === "STARTED" ? atMs : (open?.fromMs ?? atMs),
      toMs: line.status === "STARTED" ? undefined : atMs,
      status: line.status,
      note: line.note,
    };
    // A second STARTED means that the worker of the first was lost: when that call ended is unknown.
    if (open && line.status === "STARTED") {
      lane.bars[lane.bars.length - 1] = {
        ...open,
        toMs: atMs,
        status: "FAILED",
        note: "its worker was lost",
      };
      lane.bars.push(bar);
    } else if (open) lane.bars[lane.bars.length - 1] = bar;
    else lane.bars.push(bar);
  }
  const running = [...lanes.values()].some((lane) => lane.bars.at(-1)?.toMs === undefined);
  return { lanes: [...lanes.values()], marks, fromMs, toMs, running };
}

export interface Item {
  readonly fromMs: number;
  readonly toMs: number;
  /** Share of the width, from 0 to 1. */
  readonly from: number;
  readonly to: number;
  readonly cut: boolean;
}

export interface Scale {
  readonly pieces: readonly Item[];
  readonly at: (ms: number) => number;
}

const CUT_SHARE = 0.07;
const CUT_MIN_MS = 2_000;

export function scaleOf({ lanes, marks, fromMs, toMs }: TimelineModel, nowMs: number): Scale {
  const busy = lanes
    .flatMap(({ bars }) => bars.map((bar) => [bar.fromMs, bar.toMs ?? nowMs] as const))
    .concat(marks.map(({ atMs }) => [atMs, atMs] as const))
    .toSorted((one, other) => one[0] - other[0]);
  const end = Math.max(toMs, ...busy.map(([, to]) => to), fromMs + 1);
  const gaps: (readonly [number, number])[] = [];
  let reached = fromMs;
  for (const [from, to] of busy) {
    if (from > reached) gaps.push([reached, from]);
    reached = Math.max(reached, to);
  }
  const idleMs = gaps.reduce((sum, [from, to]) => sum + to - from, 0);
  const activeMs = Math.max(1, end - fromMs - idleMs);
  const cuts = gaps.filter(([from, to]) => to - from > Math.max(CUT_MIN_MS, activeMs * 0.6));
  return piecesOf(fromMs, end, cuts);
}

function piecesOf(fromMs: number, toMs: number, cuts: readonly (readonly [number, number])[]): Scale {
  const cutMs = cuts.reduce((sum, [from, to]) => sum + to - from, 0);
  const cutShare = Math.min(0.5, cuts.length * CUT_SHARE);
  const perMs = (1 - cutShare) / Math.max(1, toMs - fromMs - cutMs);
  const pieces: Item[] = [];
  let share = 0;
  let reached = fromMs;
  const add = (until: number, width: number, cut: boolean): void => {
    pieces.push({ fromMs: reached, toMs: until, from: share, to: share + width, cut });
    share += width;
    reached = until;
  };
  for (const [from, to] of cuts) {
    if (from > reached) add(from, (from - reached) * perMs, false);
    add(to, cutShare / cuts.length, true);
  }
  if (toMs > reached) add(toMs, (toMs - reached) * perMs, false);
  const at = (ms: number): number => {
    const piece = pieces.find((one) => ms <= one.toMs) ?? pieces.at(-1);
    if (!piece) return 0;
    const part = (ms - piece.fromMs) / Math.max(1, piece.toMs - piece.fromMs);
    return Math.min(1, Math.max(0, piece.from + part * (piece.to - piece.from)));
  };
  return { pieces, at };
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000,
  2_592_000_000,
];

/** Where the axis is labelled: round spans since the beginning, about `wanted` of them. */
export function axisTicks(scale: Scale, fromMs: number, wanted: number): readonly number[] {
  const shown = scale.pieces.filter((piece) => !piece.cut);
  const spanMs = shown.reduce((sum, piece) => sum + piece.toMs - piece.fromMs, 0);
  const step = STEPS_MS.find((size) => spanMs / size <= wanted) ?? STEPS_MS.at(-1) ?? 1;
  const ticks: number[] = [];
  for (const piece of shown) {
    const first = Math.ceil((piece.fromMs - fromMs) / step) * step;
    for (let span = first; fromMs + span <= piece.toMs && ticks.length < 60; span += step)
      ticks.push(fromMs + span);
  }
  return ticks;
}
