/**
 * How far the calls of a saga have come, as they report it while they run. A value belongs to one call (an act or an undo, of one item
 * or one round) and outlives its tries: the next try gets the last one. It is a hint, not a record: a value may be older than
 * what was done, and may be missing.
 */
import { partOf } from "./part-name.ts";
import { sagaMachine } from "./machine.ts";
import type { SagaState, StepState } from "./state.ts";
import { itemAt } from "./steps/items.ts";

/** The largest value, in bytes of JSON. */
export const PROGRESS_BYTES_MAX = 16_384;

/** All values of a saga together, in characters: of more, those that were reported longest ago are dropped. */
const ALL_MAX = 262_144;

export interface Reported {
  /** The value as JSON. */
  readonly json: string;
  /** When it was reported, by the clock of the process. Only for people. */
  readonly atMs: number;
}

/** By the name of the call, the one that was reported last at the end. */
export type Progress = ReadonlyMap<string, Reported>;

const UNDO = "undo ";

/** The name of a call among all calls of a saga. No name of a step has a space. */
export function callName({ kind, step }: { readonly kind: "act" | "undo"; readonly step: string }): string {
  return kind === "act" ? step : `${UNDO}${step}`;
}

/** What a name says: the name in the log, and which of its two calls is meant. */
export function namedCall(name: string): { readonly step: string; readonly kind: "act" | "undo" } {
  const isUndo = name.startsWith(UNDO);
  return { step: isUndo ? name.slice(UNDO.length) : name, kind: isUndo ? "undo" : "act" };
}

/** The same with this value instead of an earlier one of the same call. */
export function withReported(progress: Progress | undefined, name: string, reported: Reported): Progress {
  const changed = new Map(progress);
  changed.delete(name);
  return changed.set(name, reported);
}

/** What is kept of it: the values of calls that run, may be tried again, or wait for a person. */
export function openProgress(state: SagaState, progress: Progress): Progress {
  const kept: [string, Reported][] = [];
  let length = 0;
  for (const [name, reported] of [...progress].toReversed()) {
    if (!isOpen(state, name)) continue;
    length += name.length + reported.json.length;
    if (length > ALL_MAX) break;
    kept.push([name, reported]);
  }
  return new Map(kept.toReversed());
}

/** A call of this name is under way, as the log has it. */
export function isBegun(state: SagaState, name: string): boolean {
  const { kind } = namedCall(name);
  return stateOf(state, name)?.[kind] === "begun";
}

function isOpen(state: SagaState, name: string): boolean {
  const step = sagaMachine.isTerminal(state.status) ? undefined : stateOf(state, name);
  if (!step) return false;
  if (namedCall(name).kind === "undo") return OPEN_UNDO.has(step.undo);
  return OPEN_ACT.has(step.act) && !CLOSED_UNDO.has(step.undo);
}

const OPEN_ACT: ReadonlySet<StepState["act"]> = new Set(["begun", "retry", "refused", "broken"]);
const OPEN_UNDO: ReadonlySet<StepState["undo"]> = new Set(["begun", "retry", "failed"]);
const CLOSED_UNDO: ReadonlySet<StepState["undo"]> = new Set(["done", "skipped"]);

/** The state of the step, item or round that a name names; undefined if it has none, or if that round is over. */
function stateOf({ plan, steps }: SagaState, name: string): StepState | undefined {
  const { step: logged, kind } = namedCall(name);
  const { step, number } = partOf(logged);
  const index = plan.findIndex((planned) => planned.name === step);
  const state = steps[index];
  if (!state || number === undefined) return state;
  if (state.items) return itemAt(state.items, number);
  return kind === "act" && state.round === number ? state : undefined;
}

/** As it is stored; null if there is nothing to store. Its end changes with every report: pages follow it by that. */
export function encodeProgress(progress: Progress): string | null {
  const texts = [...progress].map(
    ([name, { json, atMs }]) => `${JSON.stringify(name)}:{"value":${json},"at":${Math.round(atMs)}}`,
  );
  return texts.length === 0 ? null : `{${texts.join(",")}}`;
}

/** Undefined if there is nothing, or nothing that can be read: a text that was changed by hand must not stop a saga. */
export function decodeProgress(text: string | undefined): Progress | undefined {
  if (text === undefined) return undefined;
  try {
    const read = Object.entries(JSON.parse(text) as Record<string, { at?: unknown; value?: unknown }>);
    const reports = read.flatMap(([name, { at: atMs, value = null }]): [string, Reported][] =>
      typeof atMs === "number" ? [[name, { json: JSON.stringify(value), atMs }]] : [],
    );
    return new Map(reports);
  } catch {
    return undefined;
  }
}
