/**
 * A saga that waits is given back: its row is due when its time is over, or when what it waits for is sent, and until
 * then it costs nothing. Where the wait follows on a step, the saga is given back in that step's own checkpoint.
 */
import { encodeJson } from "../../core/json.ts";
import { control, type Entry } from "../../core/saga/entry.ts";
import {
  arrivalFor,
  needsStart,
  next,
  received,
  timeOver,
  type WaitCommand,
} from "../../core/saga/interpreter.ts";
import { evolve } from "../../core/saga/evolve.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/wait.ts";
import { sleep } from "../../storage/clock.ts";
import { book, deadlineLeftMs, factsOf, reread, type DriveTools, type Rest } from "./checkpoint.ts";
import type { Run } from "./run.ts";

/** A wait up to this long is waited out in place; a longer one gives the saga back with a due time. */
export const SHORT_WAIT_MS = 1_000;

/** Whatever waits without a limit is looked at once in a while all the same: every open saga is due at some time. */
const LOOK_AGAIN_MS = 30 * 86_400_000;

/** How the saga rests after this line; undefined where it goes on: what it would wait for is there, or is no wait. */
export async function restAfter(
  tools: DriveTools,
  run: Run,
  entry: Entry,
  before: SagaState = run.state,
): Promise<Rest | undefined> {
  const state = evolve(before, entry);
  const command = next(state, factsOf(tools, run));
  if (command.kind !== "sleep" && command.kind !== "wait") return undefined;
  if (command.kind === "sleep" && (command.limitMs ?? 0) <= SHORT_WAIT_MS) return undefined;
  if (await look(tools, run, state, command)) return undefined;
  return restFor(tools, run, command, command.limitMs, true);
}

/** Ends the wait where it is over; else gives the saga back, or waits out what little is left. */
export async function wait(tools: DriveTools, run: Run, command: WaitCommand): Promise<void> {
  const isNew = needsStart(run.state, command);
  const leftMs = isNew ? command.limitMs : leftOf(tools, run, command);
  const arrival = await look(tools, run, run.state, command);
  if (!isNew && (arrival || (leftMs !== undefined && leftMs <= 0))) {
    const entry = arrival ? receive(run, command, arrival) : timeOver(run.state, command);
    return bookEnd(tools, run, entry);
  }
  const begin: Entry = { step: command.step, action: "act", status: "STARTED", details: null };
  const isShort = command.kind === "sleep" && (leftMs ?? 0) <= SHORT_WAIT_MS;
  if (isNew && (isShort || arrival)) {
    if ((await book(tools, run, { entry: begin })) === "lost") run.depart("lost");
    return;
  }
  if (isShort && !tools.draining()) return nap(tools, run, leftMs ?? 0);
  const rest = restFor(tools, run, command, leftMs, false);
  await giveBack(tools, run, isNew ? begin : control("$release", {}), rest);
}

/** One wait may follow on another: then the saga is given back in the line that ends the first. */
async function bookEnd(tools: DriveTools, run: Run, entry: Entry): Promise<void> {
  const rest = await restAfter(tools, run, entry);
  if (rest) return giveBack(tools, run, entry, rest);
  if ((await book(tools, run, { entry })) === "lost") run.depart("lost");
}

async function giveBack(tools: DriveTools, run: Run, entry: Entry, rest: Rest): Promise<void> {
  const booking = await book(tools, run, { entry, rest });
  if (booking === "changed") return;
  if (booking === "held") tools.dueIn(rest.releaseMs);
  run.depart(booking === "held" ? "released" : "lost");
}

/** Whoever is woken before its time was told to stop, or has been cancelled: the log says which. */
async function nap(tools: DriveTools, run: Run, ms: number): Promise<void> {
  run.heed();
  await sleep(tools.clock, Math.min(ms, deadlineLeftMs(tools, run) ?? ms), run.signal);
  if (!run.signal.aborted) return;
  if (run.stopReason === "lost" || (await reread(tools, run)) === "lost") run.depart("lost");
}

/** What it waits for, if it is there. The database is asked only where nothing that was seen before will do. */
async function look(
  tools: DriveTools,
  run: Run,
  state: SagaState,
  command: WaitCommand,
): Promise<Arrival | undefined> {
  if (command.kind === "sleep") return undefined;
  const known = arrivalFor(state, command, run.arrivals);
  if (known) return known;
  run.arrivals = await tools.journal.arrivals(run.id);
  return arrivalFor(state, command, run.arrivals);
}

function leftOf(tools: DriveTools, run: Run, { limitMs }: WaitCommand): number | undefined {
  return limitMs === undefined ? undefined : run.stepBegunAtMs + limitMs - tools.clock.monotonicMs();
}

function restFor(
  tools: DriveTools,
  run: Run,
  command: WaitCommand,
  leftMs: number | undefined,
  begins: boolean,
): Rest {
  const wakeMs = Math.min(leftMs ?? LOOK_AGAIN_MS, deadlineLeftMs(tools, run) ?? LOOK_AGAIN_MS);
  const seen = run.arrivals.at(-1)?.number ?? 0;
  return {
    releaseMs: Math.max(0, Math.ceil(wakeMs)),
    begins,
    ...(command.kind === "wait" && { awaits: { name: command.name, seen } }),
  };
}

/** A signal was checked when it was sent; what an event brought is read by what this process knows of it. */
function receive(run: Run, command: WaitCommand, { number, payload, version }: Arrival): Entry {
  const { interest } = run.step(command.step);
  if (!interest) return received(command, number, payload);
  try {
    const value = interest.event.read(payload, version ?? 1);
    const field = `The event that step ${command.step} waited for`;
    return received(command, number, encodeJson(value, { field, allowNul: true }));
  } catch {
    const failure = { kind: "unfit", label: "UnreadableEvent" };
    return { step: command.step, action: "act", status: "FAILED", details: JSON.stringify(failure) };
  }
}
