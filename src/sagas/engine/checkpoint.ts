/**
 * Books what happened to a running saga, one line at the next version. Where that version is taken, the saga is read
 * again: either somebody from outside added a line, and whoever runs it decides anew, or another worker has it.
 */
import { advance, pivotBegun, type Facts } from "../../core/saga/interpreter.ts";
import { control, type Entry } from "../../core/saga/entry.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { evolve } from "../../core/saga/evolve.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Database } from "../../storage/database.ts";
import { tellThrow } from "../../runtime/throws.ts";
import type { Breakers } from "./breakers.ts";
import type { CallCommand, Called, CallTools } from "./call.ts";
import type { Checkpoint, Emission, Journal, Move } from "../journal/journal.ts";
import { failureText } from "../journal/move.ts";
import type { SagaEvents } from "./saga-events.ts";
import { resultName } from "../view/outcome.ts";
import type { Run } from "./run.ts";

export interface DriveTools extends CallTools {
  readonly journal: Journal;
  readonly database: Database | undefined;
  readonly sagaEvents: SagaEvents;
  readonly breakers: Breakers;
  /** The database has forgotten what this run wrote: it went back in time. */
  onRewound(run: Run, foundVersion: number | undefined): void;
  /** Set while the worker shuts down: nothing new is begun. */
  draining(): boolean;
  /** A saga was given back and is due after this long. */
  dueIn(ms: number): void;
}

/** What a booking led to: it holds, the saga was changed meanwhile, or it is no longer ours. */
export type Booking = "held" | "changed" | "lost";

/** How a saga is given back while it waits. */
export interface Rest extends Pick<Move, "awaits"> {
  readonly releaseMs: number;
  /** The waiting begins in the same line. */
  readonly begins: boolean;
}

/** What is to be written. */
export interface Lines {
  /** The last line of all: the call that follows begins in it, unless something is waited for first. */
  readonly entry: Entry;
  /** Lines that come before it, in the same commit. */
  readonly before?: readonly Entry[] | undefined;
  readonly emissions?: readonly Emission[] | undefined;
  /** Gives the saga back, to be claimed after this long. */
  readonly releaseMs?: number | undefined;
  /** Nothing begins with the line. */
  readonly waits?: boolean | undefined;
  /** How the saga rests after the line. */
  readonly rest?: Rest | undefined;
}

export async function book(tools: DriveTools, run: Run, lines: Lines): Promise<Booking> {
  const checkpoint = checkpointFor(tools, run, lines);
  const held = await tools.journal.append(checkpoint);
  return held ? accept(tools, run, checkpoint) : reread(tools, run);
}

const NO_EMISSIONS: readonly Emission[] = [];

export function checkpointFor(tools: DriveTools, run: Run, lines: Lines): Checkpoint {
  const { entry: last, before, emissions = NO_EMISSIONS, waits, rest } = lines;
  const releaseMs = rest ? rest.releaseMs : lines.releaseMs;
  const goes = waits !== true && releaseMs === undefined && last.status !== "STARTED" && !tools.draining();
  const from = before === undefined ? run.state : before.reduce(evolve, run.state);
  const advanced = advance(from, last, factsOf(tools, run), rest ? rest.begins : goes);
  const { state } = advanced;
  const recovered = run.unconfirmedRecovery && last.status === "COMPLETED" && !last.step.startsWith("$");
  const move = moveOf(run, state, recovered, releaseMs, rest);
  const { id: sagaId, token, epoch } = run;
  const version = run.version + 1;
  if (before === undefined || before.length === 0)
    return {
      sagaId,
      epoch,
      token,
      version,
      entry: advanced.entry,
      more: advanced.more,
      emissions,
      move,
      state,
    };
  const [entry, ...more] = [...before, advanced.entry, ...(advanced.more ?? [])] as [Entry, ...Entry[]];
  return { sagaId, epoch, token, version, entry, more, emissions, move, state };
}

/** What becomes of the saga's row; undefined where it stays as it is. */
export function moveOf(
  run: Run,
  state: SagaState,
  recovered: boolean,
  releaseMs: number | undefined,
  rest?: Rest,
): Move | undefined {
  if (state.status === run.state.status && releaseMs === undefined && !recovered) return undefined;
  return {
    from: run.state.status,
    to: state.status,
    releaseMs,
    awaits: rest?.awaits,
    error: failureText(state),
    recovered,
  };
}

/** The line is durable: only now does anybody see it. */
export function accept(tools: DriveTools, run: Run, checkpoint: Checkpoint): "held" {
  const { version, entry, more, state, move } = checkpoint;
  const before = run.state;
  const count = more === undefined ? 0 : more.length;
  run.version = version + count;
  run.state = state;
  // A wait that begins here is measured by this process's clock for as long as it stays here.
  const last = more?.at(-1) ?? entry;
  const begun = last.next?.step ?? (last.status === "STARTED" ? last.step : undefined);
  if (run.hasWaits && state.plan.some(({ name, wait }) => wait && name === begun))
    run.stepBegunAtMs = tools.clock.monotonicMs();
  if (move?.recovered) run.unconfirmedRecovery = false;
  // Of several lines, only the last tells whoever follows the saga that it has ended.
  tell(tools, run, version, entry, count === 0 ? state : before);
  for (let n = 1; n <= count; n++)
    tell(tools, run, version + n, more?.[n - 1] as Entry, n === count ? state : before);
  return "held";
}

function tell(tools: DriveTools, run: Run, version: number, entry: Entry, state: SagaState): void {
  if (entry.action === "act" && entry.status === "COMPLETED" && !entry.step.startsWith("$")) {
    const index = state.plan.findIndex((step) => step.name === entry.step);
    run.results[resultName(state.plan[index] as PlannedStep)] = run.state.steps[index]?.result;
  }
  tools.sagaEvents.publish(run.id, { version, entry, state });
}

/**
 * The saga was changed from outside its worker, or the database was replaced: it is read again. A worker that still has
 * it decides anew; one that lost it stops. So does one whose saga the database knows less of than the worker does.
 */
export async function reread(tools: DriveTools, run: Run): Promise<"changed" | "lost"> {
  const record = await tools.journal.load(run.id);
  if (!record || record.version < run.version) {
    tools.onRewound(run, record?.version);
    return "lost";
  }
  if (record.token !== run.token) return "lost";
  run.epoch = record.epoch;
  run.version = record.version;
  run.adopt(record.state, record.nowMs, tools.clock.monotonicMs());
  return "changed";
}

/** For whoever watches this process: what a call threw, which is stored nowhere. */
export function tellThrown(run: Run, command: CallCommand, called: Called, waitMs: number | undefined): void {
  if (!("thrown" in called)) return;
  const { step, attempt, kind } = command;
  const { name } = run.definition;
  const isUndo = kind === "undo";
  tellThrow(() => ({ part: "saga", name, id: run.id, step, isUndo, attempt, error: called.thrown, waitMs }));
}

const IN_TIME: Facts = { expired: false };

export function factsOf(tools: DriveTools, run: Run): Facts {
  if (!run.hasDeadlines) return IN_TIME;
  const now = tools.clock.monotonicMs();
  if (run.deadlineAtMs !== undefined && now >= run.deadlineAtMs) return { expired: true };
  const late = run.state.plan.find(({ name }, index) => {
    if (run.state.steps[index]?.act !== "retry") return false;
    const limit = run.step(name).deadlineMs;
    return limit !== undefined && now >= (run.begunAtMs.get(name) ?? run.stepBegunAtMs) + limit;
  });
  return { expired: late !== undefined, late: late?.name };
}

/** How long until the saga's own deadline turns it back; undefined where it has none, or its pivot has begun. */
export function deadlineLeftMs(tools: DriveTools, run: Run): number | undefined {
  if (run.deadlineAtMs === undefined || pivotBegun(run.state)) return undefined;
  return run.deadlineAtMs - tools.clock.monotonicMs();
}

/** A saga that sleeps must wake for its deadline too. */
export function wakeAfter(tools: DriveTools, run: Run, command: CallCommand, waitMs: number): number {
  const now = tools.clock.monotonicMs();
  let wake = waitMs;
  if (command.kind === "act") {
    const { deadlineMs } = run.step(command.step);
    if (deadlineMs !== undefined) wake = Math.min(wake, run.stepBegunAtMs + deadlineMs - now);
  }
  if (run.state.status === "RUNNING") wake = Math.min(wake, deadlineLeftMs(tools, run) ?? wake);
  return Math.max(0, Math.ceil(wake));
}

/** Its deadline had passed when the act succeeded: the saga turns back, and the undo gets the result. */
export function expired({ step }: CallCommand): Entry {
  return control("$expire", { kind: "deadline", step });
}
