/**
 * Records how calls ended. Outcomes that came while others were being recorded share one commit; each is one line, and the
 * call that follows begins in the last of them. If the saga is to wait for a long time then, it is given back in the same
 * commit.
 */
import type { Entry } from "../../core/saga/entry.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { decide, next, type CallCommand } from "../../core/saga/interpreter.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaState } from "../../core/saga/state.ts";
import { reportFailedTry } from "../../runtime/failed-tries.ts";
import type {
  CallResult,
  EndedCall,
  Lines,
  Recorded,
  Recording,
  RecordListener,
  SagaHost,
} from "./saga-host.ts";
import { expired, factsOf, linesOf, recorded, wakeAfterMs } from "./lines.ts";
import { OrphanedCalls } from "./orphaned-calls.ts";
import { added, type Ended, type Run } from "./run.ts";
import { restAfter, SHORT_WAIT_MS, type BeginningRest } from "./wait.ts";

const NONE: readonly never[] = [];

/** Takes the calls that are over from the run. */
export function takeEnded(run: Run): readonly Ended[] | "lost" {
  let ended: readonly Ended[] = NONE;
  let isLost = false;
  for (const call of run.calls) {
    if (!call.isOver) continue;
    const called = call.value;
    if (called === undefined) run.isInterrupted = true;
    else if (called === "lost") isLost = true;
    else if (called !== "recorded" && called !== "changed")
      ended = added(ended, { command: call.command, called });
  }
  run.calls = run.calls.length === 1 ? NONE : run.calls.filter(({ isOver }) => !isOver);
  for (const { command, called } of ended) if (called.late) keepOrphan(run, command, called.late);
  return isLost ? "lost" : ended;
}

function keepOrphan(run: Run, command: CallCommand, answer: NonNullable<EndedCall["late"]>): void {
  run.orphans ??= new OrphanedCalls();
  run.orphans.add({ command, answer, isHarmless: run.step(command.step).transaction !== undefined });
}

/** Records the outcomes. */
export function settle(
  host: SagaHost,
  run: Run,
  ended: readonly Ended[],
  listener: RecordListener,
): Recording {
  const decided = decideAll(host, run, ended);
  if (run.hasWaits || run.hasPutOff || ended.some(hasFailed)) return settleRare(host, run, ended, decided);
  return host.record(linesFor(host, run, ended, decided, undefined), listener);
}

/** The saga may rest after these outcomes, or calls that have failed are reported. */
async function settleRare(
  host: SagaHost,
  run: Run,
  ended: readonly Ended[],
  decided: Decided,
): Promise<Recorded> {
  const rest = run.hasWaits || run.hasPutOff ? await restFor(host, run, decided) : undefined;
  const how = await recorded(host, linesFor(host, run, ended, decided, rest));
  if (how === "held" || how === "left") reportAll(host, run, ended, decided);
  return how;
}

/** An `err` is an answer of the step, not a failed try. */
function hasFailed({ called: { outcome } }: Ended): boolean {
  return outcome.kind === "failed" && outcome.failure.kind !== "err";
}

function reportAll(host: SagaHost, run: Run, ended: readonly Ended[], { waits }: Decided): void {
  for (const one of ended)
    if (hasFailed(one)) report(host, run, one.command, one.called, waits?.get(one.command));
}

interface Decided {
  /** A line for each outcome; before them, that a deadline has passed. */
  readonly entries: readonly Entry[];
  readonly isLate: boolean;
  /** The state before the last of them. */
  readonly before: SagaState;
  /** The calls that are made again, and after how long. */
  readonly waits: ReadonlyMap<CallCommand, number> | undefined;
}

function decideAll(host: SagaHost, run: Run, ended: readonly Ended[]): Decided {
  const late = ended.find(({ called }) => called.expired);
  let entries: readonly Entry[] = late ? [expired(late.command)] : NONE;
  let before = run.state;
  let waits: Map<CallCommand, number> | undefined;
  for (const { command, called } of ended) {
    const last = entries.at(-1);
    if (last) before = evolve(before, last);
    const { retry, compensateRetry } = host.settings(command.step);
    const policy = command.kind === "act" ? retry : compensateRetry;
    const { entry, before: lines = NONE, waitMs } = decide(before, command, called.outcome, policy);
    for (const line of lines) {
      entries = added(entries, line);
      before = evolve(before, line);
    }
    entries = added(entries, entry);
    if (waitMs === undefined) continue;
    waits ??= new Map();
    waits.set(command, waitMs);
    run.putOff(command, host.nowMs() + waitMs);
  }
  return { entries, isLate: late !== undefined, before, waits };
}

/** How the saga is given back with these lines; undefined if it goes on here. */
async function restFor(host: SagaHost, run: Run, decided: Decided): Promise<BeginningRest | undefined> {
  // A saga whose calls have not all returned is not given back: no other worker could hear them.
  if (run.calls.length > 0 || run.orphans?.any) return undefined;
  // What follows begins when the saga is resumed.
  if (host.isPaused) return undefined;
  const { entries, isLate, before } = decided;
  const last = entries.at(-1) as Entry;
  if (run.hasWaits && !isLate) {
    const rest = await restAfter(host, run, before, last);
    if (rest) return rest;
  }
  return run.hasPutOff ? restUntilDue(host, run, evolve(before, last)) : undefined;
}

/** The saga rests if only later tries are left, and the first of them is not due soon. */
function restUntilDue(host: SagaHost, run: Run, state: SagaState): BeginningRest | undefined {
  // A time limit may have passed while the call ran: then the saga turns back now.
  const command = next(state, factsOf(host, run, state));
  const isResting =
    command.kind === "group"
      ? command.acts.length === 0
      : (command.kind === "act" || command.kind === "undo") && run.dueAtMs(command) > host.nowMs();
  const releaseMs = isResting ? wakeAfterMs(host, run, state) : undefined;
  return releaseMs !== undefined && releaseMs > SHORT_WAIT_MS ? { releaseMs, begins: false } : undefined;
}

function linesFor(
  host: SagaHost,
  run: Run,
  ended: readonly Ended[],
  { entries, waits }: Decided,
  rest: BeginningRest | undefined,
): Lines {
  const entry = entries.at(-1) as Entry;
  const before = entries.length === 1 ? undefined : entries.slice(0, -1);
  const [first] = ended as readonly [Ended, ...Ended[]];
  const emissions =
    ended.length === 1 ? first.called.emissions : ended.flatMap(({ called }) => called.emissions);
  // A call that is made again later does not begin now. Other acts of a group or a list may: the interpreter knows which.
  const { index, item, kind } = first.command;
  const { group, each } = run.state.plan[index] as PlannedStep;
  const hasOthers = kind === "act" && (group !== undefined || (each !== undefined && item !== undefined));
  const isPutOff = waits !== undefined && !hasOthers;
  const begins = rest ? rest.begins : isPutOff ? false : undefined;
  return linesOf(host, run, { entry, before, emissions, rest, begins });
}

/** The line of a success, for a host that records it in the step's own transaction. */
export function successLines(host: SagaHost, run: Run, command: CallCommand, called: CallResult): Lines {
  const { entry } = decide(run.state, command, called.outcome, host.settings(command.step).retry);
  return linesOf(host, run, { entry, emissions: called.emissions });
}

/** Reports a failed call, after its line is durable. */
function report(
  host: SagaHost,
  run: Run,
  { step, attempt, kind }: CallCommand,
  called: EndedCall,
  waitMs: number | undefined,
): void {
  if (called.outcome.kind !== "failed") return;
  // A saga that turns back now does not wait for the next try.
  const turns = waitMs !== undefined && next(run.state, factsOf(host, run)).kind === "turn";
  reportFailedTry((fields, message) => host.warn(fields, message), {
    part: "saga",
    name: run.definition.name,
    id: run.id,
    step,
    isUndo: kind === "undo",
    attempt,
    label: called.outcome.failure.label,
    waitMs: turns ? undefined : waitMs,
    ...("thrown" in called && { error: called.thrown }),
  });
}
