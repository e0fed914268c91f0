/** How lines reach the store, and what a worker does with the answer: the protocol of the engine, without its I/O. */
import type { RetryPolicy } from "../../../../src/core/backoff.ts";
import { control, type Entry } from "../../../../src/core/saga/entry.ts";
import { advance, needsStart } from "../../../../src/core/saga/advance.ts";
import { received, timeOver } from "../../../../src/core/saga/arrival.ts";
import {
  decide,
  isAwaited,
  next,
  returnLines,
  turnEntry,
  type Outcome,
  type WaitCommand,
} from "../../../../src/core/saga/interpreter.ts";
import { evolve } from "../../../../src/core/saga/evolve.ts";
import { CLAIMABLE } from "../../../../src/core/saga/machine.ts";
import type { SagaState } from "../../../../src/core/saga/state.ts";
import type { Call, Copy, Effect, Orphan, Sending, Worker, World } from "./world.ts";

/** One retry, then the budget is used up. */
export const POLICY: RetryPolicy = { attemptMax: 2, baseMs: 1, capMs: 1, factor: 2 };

/** What the store checks before it takes a line. The test of the test takes the fence away. */
export type Fence = (store: World["store"], line: Sending) => boolean;

/** A line is taken at the next version; one that also moves the saga's row must know that row as it is. */
export const realFence: Fence = (store, line) => {
  if (line.version !== store.version) return false;
  const moves = line.after.status !== line.state.status || line.release;
  return !moves || (line.token === store.token && line.state.status === store.state.status);
};

/** What a worker with a copy that it takes for current does next. */
export function proceed(copy: Copy, world: World, who: 0 | 1): Worker {
  const { expired, effects, orphan } = world;
  const isHeard = orphan?.who === who;
  if (isHeard && orphan.answer && !["COMPLETED", "FAILED"].includes(copy.state.status))
    return returning(copy, orphan, expired);
  const command = next(copy.state, { expired });
  // A saga does not go to rest while one of its calls runs.
  const rests = command.kind === "wait";
  if (isHeard && !orphan.answer && (rests || copy.state.status === "STALLED"))
    return { ...copy, mode: "hearing" };
  switch (command.kind) {
    case "end":
      return { mode: "idle" };
    case "turn":
      return sending(copy, turnEntry(copy.state, command.why), { kind: "turn" }, true, expired);
    case "group":
      throw new Error("groups have a model of their own: groups.test.ts");
    case "wait":
      return resting(copy, command, effects[command.index] as Effect, expired);
    default: {
      if (!needsStart(copy.state, command)) return { ...copy, mode: "calling", call: command };
      const action = command.kind === "act" ? "act" : "compensate";
      const entry: Entry = { step: command.step, action, status: "STARTED", details: null };
      return sending(copy, entry, { kind: "start" }, false, expired);
    }
  }
}

/** A call that had outlived its time has returned: its success is used where it is still awaited. */
function returning(copy: Copy, { call, answer }: Orphan, expired: boolean): Sending {
  const isSuccess = answer?.kind === "ok" && isAwaited(copy.state, call);
  const done = isSuccess ? [decide(copy.state, call, answer, POLICY).entry] : [];
  const lines = returnLines(copy.state, call.step, done, true);
  const entry = lines.at(-1) as Entry;
  const go = copy.state.status !== "STALLED" && !entry.step.startsWith("$");
  return sending(copy, entry, { kind: "return" }, go, expired, lines.slice(0, -1));
}

/** A wait that is over ends; any other gives the saga back, in the line in which it begins where it has not begun. */
function resting(copy: Copy, command: WaitCommand, effect: Effect, expired: boolean): Sending {
  const begin: Entry = { step: command.step, action: "act", status: "STARTED", details: null };
  if (needsStart(copy.state, command)) return sending(copy, begin, { kind: "rest" }, false, expired);
  if (effect === "none") return sending(copy, control("$release", {}), { kind: "rest" }, false, expired);
  const came = effect === "done" && command.names.length > 0;
  const end = came ? received(command, command.index + 1, null) : timeOver(copy.state, command, "");
  return sending(copy, end, { kind: "start" }, true, expired);
}

export function sending(
  { state, version, token }: Copy,
  line: Entry,
  why: Sending["why"],
  go: boolean,
  expired: boolean,
  before: readonly Entry[] = [],
): Sending {
  const { entry, state: after } = advance(before.reduce(evolve, state), line, { expired }, go);
  const release =
    why.kind === "release" ||
    why.kind === "rest" ||
    (why.kind === "return" && state.status === "STALLED") ||
    (why.kind === "settle" && why.release);
  return { mode: "sending", state, version, token, entry, before, after, release, landed: false, why };
}

/** Books the outcome of a call. Where the call is tried again after a long wait, the saga is given back. */
export function settling(
  copy: Copy,
  call: Call,
  outcome: Outcome,
  release: boolean,
  { expired, plan, effects, orphan }: World,
): Sending {
  const { entry, waitMs } = decide(copy.state, call, outcome, POLICY);
  const waits = waitMs !== undefined;
  const then = next(evolve(copy.state, entry), { expired });
  // A saga that turns back now has nothing to wait for.
  const turns = waits && then.kind === "turn";
  // A wait begins in the line before it, which gives the saga back, unless what it waits for is there already.
  const rests =
    outcome.kind === "ok" &&
    !plan[call.index]?.atomic &&
    then.kind === "wait" &&
    effects[then.index] === "none";
  const isLate = outcome.kind === "ok" && call.kind === "act" && expired && !plan[call.index]?.atomic;
  const before = isLate ? [control("$expire", { kind: "deadline", step: call.step })] : [];
  // A saga whose calls have not all returned is not given back.
  const gives = (rests || (waits && !turns && release)) && orphan === undefined && !isLate;
  return sending(copy, entry, { kind: "settle", call, outcome, release: gives }, !waits, expired, before);
}

/** The store takes the line, or refuses it: then the world is as before. */
export function land(world: World, who: 0 | 1, fence: Fence): World | undefined {
  const line = world.workers[who] as Sending;
  const { store } = world;
  if (!fence(store, line)) return undefined;
  const state = evolve(line.before.reduce(evolve, store.state), line.entry);
  const closed = ["COMPLETED", "FAILED", "STALLED"].includes(state.status);
  return {
    ...world,
    store: {
      state,
      version: store.version + 1 + line.before.length,
      token: store.token,
      owner: closed || line.release ? "none" : store.owner,
      lapsed: closed || line.release ? false : store.lapsed,
    },
    turned: world.turned || state.status === "COMPENSATING",
    effects: committed(world, line),
  };
}

/** A transactional step's own effect is durable with its line, and only with it. */
function committed({ plan, effects }: World, { why, entry }: Sending): readonly Effect[] {
  if (why.kind !== "settle" || entry.status !== "COMPLETED" || !plan[why.call.index]?.atomic) return effects;
  return effects.with(why.call.index, why.call.kind === "act" ? "done" : "undone");
}

/** The worker knows that its line is in the database. */
export function held(world: World, who: 0 | 1): World {
  const line = world.workers[who] as Sending;
  const version = line.version + 1 + line.before.length;
  const copy: Copy = { state: line.after, version, token: line.token };
  const after = line.why.kind === "return" ? { ...world, orphan: undefined } : world;
  const gone = line.release || line.why.kind === "stall";
  return withWorker(after, who, gone ? { mode: "idle" } : proceed(copy, after, who));
}

/** Its line was refused: it reads the saga again, and decides anew where it still has it. */
export function refused(world: World, who: 0 | 1): World {
  const line = world.workers[who] as Sending;
  const { store, plan } = world;
  if (store.token !== line.token) return withWorker(unheard(world, who), who, { mode: "idle" });
  const copy: Copy = { state: store.state, version: store.version, token: store.token };
  const { why } = line;
  switch (why.kind) {
    case "settle":
      // A transactional step was rolled back with its line, and is called again.
      if (plan[why.call.index]?.atomic && why.outcome.kind === "ok") {
        return withWorker(world, who, { ...copy, mode: "calling", call: why.call });
      }
      return withWorker(world, who, settling(copy, why.call, why.outcome, why.release, world));
    case "return":
      // A person has led it out of its stall.
      if (line.release && store.state.status !== "STALLED")
        return withWorker(unheard(world, who), who, { mode: "idle" });
      return withWorker(world, who, proceed(copy, world, who));
    case "release":
    case "stall":
      // A person has ended it, or stopped it.
      if (!CLAIMABLE.includes(store.state.status)) return withWorker(world, who, { mode: "idle" });
      return withWorker(world, who, sending(copy, line.entry, why, false, world.expired));
    default:
      return withWorker(world, who, proceed(copy, world, who));
  }
}

/** Whatever its calls answer, nobody records it any more. */
function unheard(world: World, who: 0 | 1): World {
  return world.orphan?.who === who && world.orphan.answer ? { ...world, orphan: undefined } : world;
}

export function withWorker(world: World, who: 0 | 1, worker: Worker): World {
  return { ...world, workers: who === 0 ? [worker, world.workers[1]] : [world.workers[0], worker] };
}

/** A claim takes the next token and writes a line, in which the first act may begin. */
export function claim(world: World, who: 0 | 1, stall: boolean): World {
  const { store, plan, expired } = world;
  const first = plan[0] as { name: string };
  const begins = store.state.status === "PENDING" && !store.state.cancel && !expired;
  const entry: Entry = {
    ...control("$claim", { kind: "again" }),
    ...(begins && { next: { step: first.name, action: "act" } }),
  };
  const state: SagaState = evolve(store.state, entry);
  const copy: Copy = { state, version: store.version + 1, token: store.token + 1 };
  const worker = stall
    ? sending(copy, control("$stall", { kind: "recoveries", label: "R" }), { kind: "stall" }, false, expired)
    : proceed(copy, world, who);
  return withWorker({ ...world, store: { ...copy, owner: who, lapsed: false } }, who, worker);
}
