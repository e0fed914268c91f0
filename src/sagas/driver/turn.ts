/** One turn of a saga's driver: what the interpreter says is next, as far as it can be done without waiting for it. */
import { control, started, type Entry } from "../../core/saga/entry.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { needsStart } from "../../core/saga/advance.ts";
import { next, turnEntry, actionOf, type CallCommand } from "../../core/saga/interpreter.ts";
import type { LATER, Lines, Pending, Recorded, RecordListener, SagaHost } from "./saga-host.ts";
import { factsOf, wakeAfterMs, write } from "./lines.ts";
import { ORPHANS_MAX, recordReturned, returnedOf } from "./orphaned-calls.ts";
import { added, type Departure, type Run } from "./run.ts";
import { settle, takeEnded } from "./settle.ts";
import { SHORT_WAIT_MS, wait } from "./wait.ts";

/** What came of a turn: what was recorded, how the saga left, or nothing new. `LATER`: the host calls the driver. */
export type Turn = Turned | Promise<Turned> | typeof LATER;
export type Turned = Recorded | Departure | undefined;

/** Takes the next turn. The listener hears what was recorded if the turn is over `LATER`. */
export function take(host: SagaHost, run: Run, listener: RecordListener): Turn {
  return returnedOf(run) ? hearReturned(host, run) : proceed(host, run, listener);
}

/** The answers of calls that had outlived their time are recorded first. What is decided after them is decided anew. */
async function hearReturned(host: SagaHost, run: Run): Promise<Recorded> {
  const how = await recordReturned(host, run, false);
  return how === "held" ? "changed" : how;
}

/** Goes on to the next durable point, or until there is something new to decide on. */
function proceed(host: SagaHost, run: Run, listener: RecordListener): Turn {
  if (run.unrecorded.length > 0) return settle(host, run, run.unrecorded, listener);
  if (run.calls.some(isOver)) return settleEnded(host, run, listener);
  const { interruption } = host;
  // A renewal does not find a saga whose end was recorded while it was under way: that saga has ended, and is not lost.
  if (interruption === "lost") return next(run.state, factsOf(host, run)).kind === "end" ? "ended" : "lost";
  if (interruption === "changed") return reread(host);
  // Given back before anything is decided: the next worker knows that the call is in doubt.
  if (run.isInterrupted && run.calls.length === 0) return release(host, run, 0);
  const facts = factsOf(host, run);
  const command = next(run.state, facts);
  switch (command.kind) {
    case "act":
    case "undo":
      return act(host, run, [command], listener);
    case "group":
      return act(host, run, command.acts, listener);
    case "wait":
      if (host.isPaused) return halt(host, run);
      // The saga is not given back while one of its calls runs: no other worker could hear it.
      return run.orphans?.any && !host.isDraining ? pause(host, run) : wait(host, run, command);
    case "turn":
      if (host.isPaused) return halt(host, run);
      return write(host, run, { entry: turnEntry(run.state, command.why, facts.late) });
    default:
      return "ended";
  }
}

export function isOver(pending: Pending<unknown>): boolean {
  return pending.isOver;
}

/** Records the calls that are over. Interrupted calls have no outcome to record. */
function settleEnded(host: SagaHost, run: Run, listener: RecordListener): Turn {
  const ended = takeEnded(run);
  if (ended === "lost") return ended;
  run.unrecorded = ended;
  return ended.length > 0 ? settle(host, run, ended, listener) : undefined;
}

async function reread(host: SagaHost): Promise<Departure | undefined> {
  return (await host.reread()) === "lost" ? "lost" : undefined;
}

/** Makes the calls that are due and have begun, begins those that have not, or waits for what is under way. */
function act(host: SagaHost, run: Run, commands: readonly CallCommand[], listener: RecordListener): Turn {
  let isAnyDue = false;
  let fresh: CallCommand[] | undefined;
  for (const command of commands) {
    if (!isDue(host, run, command)) continue;
    isAnyDue = true;
    if (host.isDraining) continue;
    // Of a paused saga, a call that has begun is made: it runs, as far as the log knows.
    if (!needsStart(run.state, command)) call(host, run, command);
    else if (!host.isPaused) (fresh ??= []).push(command);
  }
  if (fresh) return host.record(beginning(run, fresh), listener);
  // A step that returns without a promise has ended already.
  if (run.calls.some(isOver)) return settleEnded(host, run, listener);
  if (run.calls.length > 0) return pause(host, run);
  return rest(host, run, isAnyDue ? 0 : (wakeAfterMs(host, run) ?? 0));
}

function isDue(host: SagaHost, run: Run, command: CallCommand): boolean {
  if (run.calls.length > 0 && run.calls.some((active) => active.command.step === command.step)) return false;
  if (run.hasPutOff && run.dueAtMs(command) > host.nowMs()) return false;
  return run.orphans === undefined || command.attempt === 1 || run.orphans.running.length < ORPHANS_MAX;
}

function call(host: SagaHost, run: Run, command: CallCommand): void {
  if (run.hasDeadlines && command.kind === "act" && run.begunAtMs(command.step) === undefined)
    run.begin(command.step, host.nowMs());
  const pending = host.call(command);
  run.calls = added(run.calls, pending);
}

/** The lines with which these calls begin, in one commit. */
function beginning({ state }: Run, commands: readonly CallCommand[]): Lines {
  const [entry, ...more] = commands.map((command): Entry => ({
    ...started(command.step),
    action: actionOf(command),
  })) as [Entry, ...Entry[]];
  return { entry, more, emissions: [], state: more.reduce(evolve, evolve(state, entry)), rest: undefined };
}

/** Waits until a call ends, the host is interrupted, or a next try is due. */
async function pause(host: SagaHost, run: Run): Promise<undefined> {
  const { calls, orphans } = run;
  const wakeMs = run.hasPutOff || orphans ? wakeAfterMs(host, run) : undefined;
  const pendings: readonly Pending<unknown>[] = orphans
    ? [...calls, ...orphans.running.map(({ answer }) => answer)]
    : calls;
  await host.until(pendings, wakeMs);
}

/** No call is under way and none is due: the driver waits for a short time, and gives the saga back for a longer one. */
async function rest(host: SagaHost, run: Run, ms: number): Promise<Recorded | undefined> {
  if (host.isDraining) return release(host, run, ms);
  if (run.orphans?.any) return pause(host, run);
  if (ms > SHORT_WAIT_MS || host.isPaused) return release(host, run, ms);
  await host.until([], ms);
  return undefined;
}

/** A paused saga is given back once none of its calls runs. It decides anew when it is resumed. */
function halt(host: SagaHost, run: Run): Turn {
  return run.calls.length > 0 || (run.orphans?.any && !host.isDraining)
    ? pause(host, run)
    : release(host, run, 0);
}

/** Gives the saga back. A call that has begun is in doubt for the next worker. */
function release(host: SagaHost, run: Run, releaseMs: number): Promise<Recorded> {
  return write(host, run, { entry: control("$release", {}), rest: { releaseMs } });
}
