/** The lines of a checkpoint: what happened, what begins with it, and what the saga is then. */
import { control, type Entry } from "../../core/saga/entry.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { advance } from "../../core/saga/advance.ts";
import { pivotBegun, type Facts, type CallCommand } from "../../core/saga/interpreter.ts";
import { partName } from "../../core/saga/part-name.ts";
import type { SagaState, StepState } from "../../core/saga/state.ts";
import { lastItem, openItems, type Items } from "../../core/saga/steps/items.ts";
import type { Emission } from "../journal/journal.ts";
import {
  LATER,
  type Lines,
  type Recorded,
  type RecordListener,
  type Recording,
  type Rest,
  type SagaHost,
} from "./saga-host.ts";
import type { Run } from "./run.ts";

/** What is to be written. */
export interface NewLines {
  /** The last line. */
  readonly entry: Entry;
  /** Lines that come before it, in the same commit. */
  readonly before?: readonly Entry[] | undefined;
  readonly emissions?: readonly Emission[] | undefined;
  /** The saga is given back with them. */
  readonly rest?: Rest | undefined;
  /** The call or wait that follows begins in the last line. Default: unless the saga is given back or paused, or the host drains. */
  readonly begins?: boolean | undefined;
}

const NO_EMISSIONS: readonly Emission[] = [];

export function linesOf(host: SagaHost, run: Run, given: NewLines): Lines {
  const { entry: last, before, emissions = NO_EMISSIONS, rest } = given;
  const isBeginning = last.status === "STARTED" && last.details === null;
  const begins = given.begins ?? (rest === undefined && !isBeginning && !host.isDraining && !host.isPaused);
  const from = before === undefined ? run.state : before.reduce(evolve, run.state);
  const advanced = advance(from, last, factsOf(host, run), begins, before);
  const { entry, more, state } = advanced;
  if (before === undefined || before.length === 0) return { entry, more, emissions, state, rest };
  const [head, ...tail] = [...(advanced.before ?? []), entry, ...(more ?? [])] as [Entry, ...Entry[]];
  return { entry: head, more: tail, emissions, state, rest };
}

/** Writes a line. If an operator added a line meanwhile, the next turn decides again. */
export function write(host: SagaHost, run: Run, lines: NewLines): Promise<Recorded> {
  return recorded(host, linesOf(host, run, lines));
}

/** Records lines for a caller that waits for a promise. */
export function recorded(host: SagaHost, lines: Lines): Promise<Recorded> {
  return new Promise((resolve, reject) => {
    const listener: RecordListener = { recorded: resolve, failed: reject };
    const recording: Recording = host.record(lines, listener);
    if (recording !== LATER) resolve(recording);
  });
}

const IN_TIME: Facts = { expired: false };

/**
 * What the interpreter must know beside the state: time limits that have passed, and of groups which calls are under way. `state`: what
 * the saga will be by lines that are not recorded yet.
 */
export function factsOf(host: SagaHost, run: Run, state: SagaState = run.state): Facts {
  if (!run.hasDeadlines && run.calls.length === 0 && !run.hasPutOff) return IN_TIME;
  const late = run.hasDeadlines ? lateStep(host, run, state) : undefined;
  return {
    expired: late !== undefined,
    late: late === OWN_DEADLINE ? undefined : late,
    calling: run.calls.length === 0 ? undefined : new Set(run.calls.map(({ command }) => command.step)),
    isResting: run.hasPutOff ? restingAt(run, host.nowMs()) : undefined,
  };
}

/** No name of a step: the deadline that passed is the saga's own. */
const OWN_DEADLINE = "";

function lateStep(host: SagaHost, run: Run, state: SagaState): string | undefined {
  const now = host.nowMs();
  if (run.deadlineAtMs !== undefined && now >= run.deadlineAtMs) return OWN_DEADLINE;
  return state.plan.find(
    ({ name }, index) => state.steps[index]?.act === "retry" && now >= stepDeadline(host, run, name),
  )?.name;
}

/** When a step's own deadline passes. */
function stepDeadline(host: SagaHost, run: Run, step: string): number {
  const { deadlineMs } = host.settings(step);
  const begunAtMs = run.begunAtMs(step);
  return deadlineMs === undefined || begunAtMs === undefined ? Infinity : begunAtMs + deadlineMs;
}

function restingAt(run: Run, now: number): (step: string) => boolean {
  return (step) => run.dueAtMs({ kind: "act", step }) > now;
}

/** How long until the saga's own deadline turns it back; undefined if it has none, or if its pivot has begun. */
export function deadlineLeftMs(host: SagaHost, run: Run): number | undefined {
  if (run.deadlineAtMs === undefined || pivotBegun(run.state)) return undefined;
  return run.deadlineAtMs - host.nowMs();
}

/** How long until a next try is due or a deadline passes; undefined if neither is to come. */
export function wakeAfterMs(host: SagaHost, run: Run, state: SagaState = run.state): number | undefined {
  const now = host.nowMs();
  let wakeAtMs = Infinity;
  const wake = (atMs: number): void => {
    if (atMs > now) wakeAtMs = Math.min(wakeAtMs, atMs);
  };
  for (const [index, { name: step }] of state.plan.entries()) {
    const { act, undo, items, round } = state.steps[index] as StepState;
    if (act === "retry") {
      wake(run.dueAtMs({ kind: "act", step: round === undefined ? step : partName(step, round) }));
      wake(stepDeadline(host, run, step));
    }
    if (undo === "retry") wake(run.dueAtMs({ kind: "undo", step }));
    if (items) for (const call of retriesIn(step, items)) wake(run.dueAtMs(call));
  }
  const ownMs = state.status === "RUNNING" ? (deadlineLeftMs(host, run) ?? Infinity) : Infinity;
  const wakeMs = Math.min(wakeAtMs - now, ownMs > 0 ? ownMs : Infinity);
  return wakeMs === Infinity ? undefined : Math.ceil(wakeMs);
}

/** The calls of items that are made again. */
function retriesIn(step: string, items: Items): readonly Pick<CallCommand, "kind" | "step">[] {
  const acts = openItems(items, ({ act }) => act === "retry", Infinity);
  const undo = lastItem(items, (item) => item.undo === "retry");
  return [
    ...acts.map((number) => ({ kind: "act" as const, step: partName(step, number) })),
    ...(undo < 0 ? [] : [{ kind: "undo" as const, step: partName(step, undo) }]),
  ];
}

/** The deadline had passed when the act succeeded: the saga turns back, and the undo gets the result. */
export function expired({ step }: CallCommand): Entry {
  return control("$expire", { kind: "deadline", step });
}
