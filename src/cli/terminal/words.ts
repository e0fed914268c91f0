/** Spans, instants and states as people say them. */
import { paint, type Colour, type Ink } from "./ink.ts";

const UNITS: readonly (readonly [ms: number, sign: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1_000, "s"],
];

/** `80 ms`, `1.2 s`, `3 m 20 s`, `2 d 4 h`. */
export function span(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole} ms`;
  if (whole < 60_000) return `${(Math.floor(whole / 100) / 10).toFixed(whole < 10_000 ? 1 : 0)} s`;
  const first = UNITS.findIndex(([unit]) => whole >= unit);
  const [unit, sign] = UNITS[first] as readonly [number, string];
  const [below, lesser] = UNITS[first + 1] as readonly [number, string];
  const rest = Math.floor((whole % unit) / below);
  const head = `${Math.floor(whole / unit)} ${sign}`;
  return rest === 0 ? head : `${head} ${rest} ${lesser}`;
}

export function ago(instant: string, nowMs: number): string {
  const ms = nowMs - Date.parse(instant);
  if (Math.abs(ms) < 1_000) return "now";
  return ms < 0 ? `in ${span(-ms)}` : `${span(ms)} ago`;
}

/** How a state of any part is shown: red needs attention, yellow was rolled back. */
const STATES: Readonly<Record<string, Colour>> = {
  COMPLETED: "green",
  RUNNING: "blue",
  PENDING: "dim",
  COMPENSATING: "magenta",
  FAILED: "yellow",
  STALLED: "red",
  succeeded: "green",
  in_flight: "blue",
  pending: "dim",
  scheduled: "dim",
  failed: "yellow",
  abandoned: "red",
  superseded: "dim",
  running: "blue",
  compensating: "magenta",
  completed: "green",
  stalled: "red",
  Completed: "green",
  InProgress: "blue",
  Pending: "dim",
  PendingRetry: "yellow",
  DeadLettered: "red",
  active: "green",
  paused: "yellow",
  removed: "dim",
  stopping: "yellow",
  stopped: "yellow",
  Active: "green",
  Paused: "yellow",
  Disabled: "red",
  open: "blue",
  overdue: "red",
  served: "green",
  unserved: "red",
  retired: "dim",
};

export function state(status: string): Ink {
  return paint(Object.hasOwn(STATES, status) ? STATES[status] : undefined, status);
}

/** An event without a subscriber is stored as pending, and nothing is left to do for it. */
export function entryState(kind: string, status: string): Ink {
  return kind === "event" && status === "pending" ? paint("dim", "no subscriber") : state(status);
}

/** `1 item`, `2 items`. */
export function many(count: number, one: string, more: string = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}
