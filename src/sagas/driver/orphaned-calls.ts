/**
 * Calls of one saga that have outlived their time and have not returned. Until they return, nothing of the saga is undone,
 * the saga is not given back, and its slot stays taken. What they answer counts: a success that comes before the next call
 * goes out is used, and a saga that stalled because a call still ran goes on once that has returned.
 */
import type { Entry } from "../../core/saga/entry.ts";
import { decide, isAwaited, returnLines, type CallCommand } from "../../core/saga/interpreter.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import type { CallResult, SagaHost, Pending, Recorded } from "./saga-host.ts";
import { linesOf, recorded } from "./lines.ts";
import type { Run } from "./run.ts";

export interface OrphanedCall {
  readonly command: CallCommand;
  /** Its answer; no value if it was interrupted. */
  readonly answer: Pending<CallResult | undefined>;
  /** Nothing that it does is ever committed: it only takes its slot. */
  readonly isHarmless: boolean;
}

/** A step that is tried again and again while its calls do not return has no more than this many of them. */
export const ORPHANS_MAX = 8;

export class OrphanedCalls {
  #calls: readonly OrphanedCall[] = [];

  /** Those that run, and those that have returned and are not accounted for. */
  get all(): readonly OrphanedCall[] {
    return this.#calls;
  }

  get any(): boolean {
    return this.#calls.length > 0;
  }

  get running(): readonly OrphanedCall[] {
    return this.#calls.filter(({ answer }) => !answer.isOver);
  }

  add(call: OrphanedCall): void {
    this.#calls = [...this.#calls, call];
  }

  /** Those of one step that have returned, and whether others of it still run; undefined where none has returned. */
  returned(): Returned | undefined {
    const first = this.#calls.find(({ answer }) => answer.isOver);
    if (!first) return undefined;
    const ofStep = this.#calls.filter(({ command }) => command.step === first.command.step);
    const calls = ofStep.filter(({ answer }) => answer.isOver);
    return { step: first.command.step, calls, isLast: calls.length === ofStep.length };
  }

  /** The answers of these have been recorded, or do not matter. */
  forget(calls: readonly OrphanedCall[]): void {
    this.#calls = this.#calls.filter((call) => !calls.includes(call));
  }
}

interface Returned {
  readonly step: string;
  readonly calls: readonly OrphanedCall[];
  readonly isLast: boolean;
}

/** Records every call that has returned; `held` where there is none. With `hasLeft`, the saga is no longer driven here. */
export async function recordReturned(host: SagaHost, run: Run, hasLeft: boolean): Promise<Recorded> {
  for (let how: Recorded = "held"; ;) {
    const returned = returnedOf(run);
    if (!returned) return how;
    // A person has led it out of its stall: this worker no longer answers for it.
    if (hasLeft && run.state.status !== "STALLED") return "lost";
    const heard = returned.calls.filter(({ isHarmless }) => !isHarmless);
    how = heard.length === 0 ? "held" : await record(host, run, returned, heard);
    if (how === "lost") return how;
    // If an operator wrote first, what the success is worth is decided again.
    if (how !== "changed") run.orphans?.forget(returned.calls);
  }
}

/** Calls that have returned and are not accounted for. Once a person has ended the saga, nothing follows its last line. */
export function returnedOf({ orphans, state }: Run): Returned | undefined {
  return orphans === undefined || sagaMachine.isTerminal(state.status) ? undefined : orphans.returned();
}

function record(
  host: SagaHost,
  run: Run,
  { step, isLast }: Returned,
  heard: readonly OrphanedCall[],
): Promise<Recorded> {
  const success = heard.find(
    ({ command, answer }) => answer.value?.outcome.kind === "ok" && isAwaited(run.state, command),
  );
  const done = success ? decideOn(host, run, success) : [];
  const lines = returnLines(run.state, step, done, isLast);
  const entry = lines.at(-1);
  if (!entry) return Promise.resolve("held");
  // A stalled saga belongs to no worker: it is given to whichever comes first.
  const rest = run.state.status === "STALLED" ? { releaseMs: 0 } : undefined;
  const begins = rest === undefined && !entry.step.startsWith("$");
  const emissions = success?.answer.value?.emissions;
  return recorded(host, linesOf(host, run, { entry, before: lines.slice(0, -1), emissions, rest, begins }));
}

function decideOn(host: SagaHost, run: Run, { command, answer }: OrphanedCall): readonly Entry[] {
  const { outcome } = answer.value as CallResult;
  const { entry, before = [] } = decide(run.state, command, outcome, host.settings(command.step).retry);
  return [...before, entry];
}

/** The saga has left, and its slot stays taken until its calls have returned. A stalled one may go on by itself then. */
export async function outlastCalls(host: SagaHost, run: Run): Promise<void> {
  const { orphans } = run;
  while (orphans && orphans.running.length > 0) await host.until(orphans.running.map(({ answer }) => answer));
  if (run.state.status === "STALLED") await recordReturned(host, run, true);
}
