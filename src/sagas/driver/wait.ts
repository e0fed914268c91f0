/**
 * Steps that wait: for time, a signal, an event, the next round or a child saga. A saga that waits is given back: it is due when its
 * time is over, or when something arrives that it waits for, and costs nothing until then. If the wait follows a call, that
 * call's checkpoint gives it back.
 */
import { needsStart } from "../../core/saga/advance.ts";
import type { FailureLabel } from "../../core/saga/failure-label.ts";
import { childEnded, endOf, received, timeOver } from "../../core/saga/arrival.ts";
import { encodeJson } from "../../core/json.ts";
import { control, started, type Entry } from "../../core/saga/entry.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { next, type WaitCommand } from "../../core/saga/interpreter.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { ChildEnd } from "../../core/saga/steps/child.ts";
import { LIST_BYTES_MAX } from "../../core/saga/steps/each.ts";
import type { Arrival, First } from "../../core/saga/steps/wait.ts";
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

/** How the saga is given back after this line; undefined if no wait follows, or if it is over already. */
export async function restAfter(
  host: SagaHost,
  run: Run,
  before: SagaState,
  entry: Entry,
): Promise<BeginningRest | undefined> {
  const state = evolve(before, entry);
  const command = next(state, factsOf(host, run));
  if (command.kind !== "wait" || isShort(command, command.limitMs)) return undefined;
  if (await look(host, run, state, command, NOT_OVER)) return undefined;
  return { ...restFor(host, run, command, command.limitMs), begins: true };
}

/** Ends the wait if it is over. Otherwise it gives the saga back, or waits if only a short time is left. */
export async function wait(host: SagaHost, run: Run, command: WaitCommand): Promise<Recorded | undefined> {
  const isNew = needsStart(run.state, command);
  const leftMs = isNew ? command.limitMs : leftOf(host, run, command, command.limitMs);
  const isOver = (limitMs: number): boolean => (leftOf(host, run, command, limitMs) ?? 1) <= 0;
  const end = await look(host, run, run.state, command, isNew ? NOT_OVER : isOver);
  if (!isNew && end) {
    const entry = end.arrival
      ? receive(run, command, end, end.arrival)
      : timeOver(run.state, command, end.name);
    // One wait may follow another: then the saga is given back in the line that ends the first.
    const rest = await restAfter(host, run, run.state, entry);
    return write(host, run, { entry, rest, begins: rest?.begins });
  }
  const isBrief = isShort(command, leftMs);
  if (isNew && (isBrief || end)) return write(host, run, { entry: started(command.step) });
  if (isBrief && !host.isDraining) {
    await host.until([], Math.min(leftMs ?? 0, deadlineLeftMs(host, run) ?? Infinity));
    return undefined;
  }
  const entry = isNew ? started(command.step) : control("$release", {});
  return write(host, run, { entry, rest: restFor(host, run, command, leftMs) });
}

const NOT_OVER = (): boolean => false;

/** Only time ends it, and soon: it is waited out in place. */
function isShort({ names }: WaitCommand, leftMs: number | undefined): boolean {
  return names.length === 0 && (leftMs ?? 0) <= SHORT_WAIT_MS;
}

/** What has ended the wait, if anything has. The host is asked only if no known arrival fits. */
async function look(
  host: SagaHost,
  run: Run,
  state: SagaState,
  command: WaitCommand,
  isOver: (limitMs: number) => boolean,
): Promise<First | undefined> {
  const known = endOf(state, command, run.arrivals, isOver);
  // Although time is over, something may have arrived before.
  if (known?.arrival || command.names.length === 0) return known;
  run.arrivals = await host.arrivals();
  return endOf(state, command, run.arrivals, isOver);
}

/** How much of a limit of the wait is left. */
function leftOf(
  host: SagaHost,
  run: Run,
  { step }: WaitCommand,
  limitMs: number | undefined,
): number | undefined {
  const now = host.nowMs();
  return limitMs === undefined ? undefined : (run.begunAtMs(step) ?? now) + limitMs - now;
}

function restFor(host: SagaHost, run: Run, command: WaitCommand, leftMs: number | undefined): Rest {
  const wakeMs = Math.min(leftMs ?? LOOK_AGAIN_MS, deadlineLeftMs(host, run) ?? LOOK_AGAIN_MS);
  const seen = run.arrivals.at(-1)?.number ?? 0;
  const { names } = command;
  return {
    releaseMs: Math.max(0, Math.ceil(wakeMs)),
    ...(names.length > 0 && { awaits: { names, seen } }),
  };
}

function receive(run: Run, command: WaitCommand, { name }: First, arrival: Arrival): Entry {
  const { planned, interests } = run.step(command.step);
  if (planned.child !== undefined) return receiveEnd(run, command, arrival);
  const which = planned.wait?.any ? name : undefined;
  const { number, payload, version } = arrival;
  const interest = interests?.find(({ alternative }) => alternative === which);
  // A signal was checked when it was sent; an event is read by what this process knows of its type.
  if (!interest) return received(command, number, payload, which);
  try {
    const value = interest.event.read(payload, version ?? 1);
    const field = `The event that step ${command.step} waited for`;
    return received(command, number, encodeJson(value, { field, allowNul: true }), which);
  } catch {
    return unfit(command, "UnreadableEvent");
  }
}

function receiveEnd(run: Run, command: WaitCommand, { number, payload }: Arrival): Entry {
  // A child that is gone is one that its parent knows nothing of.
  if (payload === null) return unfit(command, "ChildNotFound");
  const end = JSON.parse(payload) as ChildEnd;
  const id = run.state.steps[command.index]?.awaited?.saga;
  const results = end.status === "COMPLETED" ? end.results : undefined;
  const value = JSON.stringify({ id, results });
  // The results of a child are many, like those of a list.
  return value.length > LIST_BYTES_MAX
    ? unfit(command, "ResultsTooLarge")
    : childEnded(run.state, command, number, end, value);
}

function unfit({ step }: WaitCommand, label: FailureLabel): Entry {
  return { step, action: "act", status: "FAILED", details: JSON.stringify({ kind: "unfit", label }) };
}
