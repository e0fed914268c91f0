/**
 * Books what happened to a running saga, one line at the next version. Where that version is taken, the saga is read
 * again: either somebody from outside added a line, and whoever runs it decides anew, or another worker has it.
 */
import { advance, pivotBegun, type Facts } from "../core/saga/interpreter.ts";
import type { Entry } from "../core/saga/entry.ts";
import type { PlannedStep } from "../core/saga/plan.ts";
import type { SagaState } from "../core/saga/state.ts";
import type { Database } from "../storage/database.ts";
import { tellThrow } from "../work/throws.ts";
import type { Breakers } from "./breakers.ts";
import type { CallCommand, Called, CallTools } from "./call.ts";
import type { Checkpoint, Emission, Journal, Move } from "./journal.ts";
import { failureText } from "./move.ts";
import type { Newsroom } from "./news.ts";
import { resultName } from "./outcome.ts";
import type { Run } from "./run.ts";

export interface DriveTools extends CallTools {
  readonly journal: Journal;
  readonly database: Database | undefined;
  readonly newsroom: Newsroom;
  readonly breakers: Breakers;
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

/** Books one line: with the call that follows begun in it, unless something is waited for first. */
export async function book(
  tools: DriveTools,
  run: Run,
  entry: Entry,
  emissions: readonly Emission[] = [],
  releaseMs?: number,
  waits: boolean = false,
): Promise<Booking> {
  return append(tools, run, checkpointFor(tools, run, entry, emissions, releaseMs, waits));
}

/** The same for a line after which the saga rests. */
export async function bookRest(tools: DriveTools, run: Run, entry: Entry, rest: Rest): Promise<Booking> {
  return append(tools, run, checkpointFor(tools, run, entry, [], rest.releaseMs, true, rest));
}

async function append(tools: DriveTools, run: Run, checkpoint: Checkpoint): Promise<Booking> {
  const held = await tools.journal.append(checkpoint);
  return held ? accept(tools, run, checkpoint) : reread(tools, run);
}

export function checkpointFor(
  tools: DriveTools,
  run: Run,
  line: Entry,
  emissions: readonly Emission[],
  releaseMs: number | undefined,
  waits: boolean,
  rest?: Rest,
): Checkpoint {
  const goes = !waits && releaseMs === undefined && line.status !== "STARTED" && !tools.draining();
  const go = rest ? rest.begins : goes;
  const { entry, more, state } = advance(run.state, line, factsOf(tools, run), go);
  const recovered = run.shaky && line.status === "COMPLETED" && !line.step.startsWith("$");
  const move = moveOf(run, state, recovered, releaseMs, rest);
  return { sagaId: run.id, token: run.token, version: run.version + 1, entry, more, emissions, move, state };
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
  if (move?.recovered) run.shaky = false;
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
  tools.newsroom.publish(run.id, { version, entry, state });
}

/** Somebody wrote first. Whoever still has the saga decides anew; whoever lost it stops. */
export async function reread(tools: DriveTools, run: Run): Promise<"changed" | "lost"> {
  const record = await tools.journal.load(run.id);
  if (!record || record.token !== run.token) return "lost";
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
