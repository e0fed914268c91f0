/**
 * Steps that only wait, for time, a signal or an event. A saga that waits is given back: it is due when its time is over, or
 * when the signal arrives, and costs nothing until then. If the wait follows a step, that step's checkpoint gives it back.
 */
import { encodeJson } from "../../core/json.ts";
import { control, started, type Entry } from "../../core/saga/entry.ts";
import { evolve } from "../../core/saga/evolve.ts";
import {
  arrivalFor,
  needsStart,
  next,
  received,
  timeOver,
  type WaitCommand,
} from "../../core/saga/interpreter.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/wait.ts";
import type { SagaHost, Recorded, Rest } from "./saga-host.ts";
import { deadlineLeftMs, factsOf, write } from "./lines.ts";
import type { Run } from "./run.ts";

/** A wait up to this long is waited out in place; a longer one gives the saga back with a due time. */
export const SHORT_WAIT_MS = 1_000;

/** The due time of a wait without a limit: every open saga is due at some time. */
const LOOK_AGAIN_MS = 30 * 86_400_000;

export interface BeginningRest extends Rest {
  /** The wait begins in the same line. */
  readonly begins: boolean;
}

/** How the saga is given back after this line; undefined if no wait follows, or if the signal has arrived. */
export async function restAfter(
  host: SagaHost,
  run: Run,
  before: SagaState,
  entry: Entry,
): Promise<BeginningRest | undefined> {
  const state = evolve(before, entry);
  const command = next(state, factsOf(host, run));
  if (command.kind !== "sleep" && command.kind !== "wait") return undefined;
  if (command.kind === "sleep" && (command.limitMs ?? 0) <= SHORT_WAIT_MS) return undefined;
  if (await look(host, run, state, command)) return undefined;
  return { ...restFor(host, run, command, command.limitMs), begins: true };
}

/** Ends the wait if it is over. Otherwise it gives the saga back, or waits if only a short time is left. */
export async function wait(host: SagaHost, run: Run, command: WaitCommand): Promise<Recorded | undefined> {
  const isNew = needsStart(run.state, command);
  const leftMs = isNew ? command.limitMs : leftOf(host, run, command);
  const arrival = await look(host, run, run.state, command);
  if (!isNew && (arrival || (leftMs !== undefined && leftMs <= 0))) {
    const entry = arrival ? receive(run, command, arrival) : timeOver(run.state, command);
    // One wait may follow another: then the saga is given back in the line that ends the first.
    const rest = await restAfter(host, run, run.state, entry);
    return write(host, run, { entry, rest, begins: rest?.begins });
  }
  const isShort = command.kind === "sleep" && (leftMs ?? 0) <= SHORT_WAIT_MS;
  if (isNew && (isShort || arrival)) return write(host, run, { entry: started(command.step) });
  if (isShort && !host.isDraining) {
    await host.until([], Math.min(leftMs ?? 0, deadlineLeftMs(host, run) ?? Infinity));
    return undefined;
  }
  const entry = isNew ? started(command.step) : control("$release", {});
  return write(host, run, { entry, rest: restFor(host, run, command, leftMs) });
}

/** The signal or event that the step waits for, if it has arrived. The host is asked only if no known arrival fits. */
async function look(
  host: SagaHost,
  run: Run,
  state: SagaState,
  command: WaitCommand,
): Promise<Arrival | undefined> {
  if (command.kind === "sleep") return undefined;
  const known = arrivalFor(state, command, run.arrivals);
  if (known) return known;
  run.arrivals = await host.arrivals();
  return arrivalFor(state, command, run.arrivals);
}

function leftOf(host: SagaHost, run: Run, { step, limitMs }: WaitCommand): number | undefined {
  const now = host.nowMs();
  return limitMs === undefined ? undefined : (run.begunAtMs(step) ?? now) + limitMs - now;
}

function restFor(host: SagaHost, run: Run, command: WaitCommand, leftMs: number | undefined): Rest {
  const wakeMs = Math.min(leftMs ?? LOOK_AGAIN_MS, deadlineLeftMs(host, run) ?? LOOK_AGAIN_MS);
  const seen = run.arrivals.at(-1)?.number ?? 0;
  return {
    releaseMs: Math.max(0, Math.ceil(wakeMs)),
    ...(command.kind === "wait" && { awaits: { name: command.name, seen } }),
  };
}

/** A signal was checked when it was sent; an event is read by what this process knows of its type. */
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
