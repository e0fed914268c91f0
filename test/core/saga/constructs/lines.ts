/** How the worker writes lines, and what the world remembers of them: the protocol of the engine, without its I/O. */
import type { RetryPolicy } from "../../../../src/core/backoff.ts";
import { advance } from "../../../../src/core/saga/advance.ts";
import { control, type Entry } from "../../../../src/core/saga/entry.ts";
import { evolve } from "../../../../src/core/saga/evolve.ts";
import {
  actionOf,
  decide,
  type CallCommand,
  type Facts,
  type Outcome,
} from "../../../../src/core/saga/interpreter.ts";
import { CLAIMABLE } from "../../../../src/core/saga/machine.ts";
import type { PlannedStep } from "../../../../src/core/saga/plan.ts";
import { readListing } from "../../../../src/core/saga/steps/each.ts";
import { isPart } from "../../../../src/core/saga/part-name.ts";
import { indexOf } from "../../../../src/core/saga/state.ts";
import { stateKey, type World } from "./world.ts";

/** One retry, then the budget is used up. */
export const POLICY: RetryPolicy = { attemptMax: 2, baseMs: 1, capMs: 1, factor: 2 };

export function factsOf({ expired, calling }: World): Facts {
  return { expired, calling: new Set(calling.map(({ step }) => step)) };
}

/** Writes lines in one commit. With `go`, what follows begins in the last of them. */
export function write(world: World, last: Entry, go: boolean, before: readonly Entry[] = []): World {
  const from = before.reduce(evolve, world.state);
  const advanced = advance(from, last, factsOf(world), go, before.length > 0 ? before : undefined);
  const lines = [...(advanced.before ?? before), advanced.entry, ...(advanced.more ?? [])];
  const state = lines.reduce(evolve, world.state);
  if (stateKey(state) !== stateKey(advanced.state))
    throw new Error(
      `${lines.map(({ step }) => step).join()} read back is another state than it was written as`,
    );
  const after = lines.reduce(remembered, { ...world, state: advanced.state });
  return CLAIMABLE.includes(state.status) ? after : { ...after, isHeld: false };
}

/** What the log says from this line on. */
function remembered(given: World, { step, action, status, details, next }: Entry): World {
  const begins = status === "STARTED" && details === null && action === "act" ? [step] : [];
  const nexts = next?.action === "act" ? [next.step] : [];
  const world = { ...given, begun: new Set([...given.begun, ...begins, ...nexts]) };
  if (step.startsWith("$") || action !== "act") return world;
  const planned = world.plan[indexOf(world.state, step)] as PlannedStep;
  const record = (what: string): World => ({ ...world, recorded: { ...world.recorded, [step]: what } });
  if (status === "STARTED") {
    if (details === null || !planned.each) return world;
    const count = Number(world.recorded[step] ?? 0) + readListing(details).items.length;
    return record(String(count));
  }
  if (status === "FAILED" || (planned.repeat && !isPart(step))) return world;
  return record(planned.choice ? String(details) : "done");
}

/** Writes how a call ended. */
export function settle(world: World, command: CallCommand, outcome: Outcome): World {
  const ended = { ...world, calling: world.calling.filter((call) => call !== command) };
  const { entry, before = [], waitMs } = decide(ended.state, command, outcome, POLICY);
  const planned = ended.plan[command.index] as PlannedStep;
  const isAct = command.kind === "act";
  const isLate = outcome.kind === "ok" && isAct && ended.expired && !planned.atomic;
  const late = isLate ? [control("$expire", { kind: "deadline", step: command.step })] : [];
  // What a transactional call does is durable with its line, and only with it.
  const commits = planned.atomic && outcome.kind === "ok";
  const effects = commits
    ? { ...ended.effects, [command.step]: isAct || planned.end ? ("done" as const) : ("undone" as const) }
    : ended.effects;
  return write({ ...ended, effects }, entry, waitMs === undefined, [...late, ...before]);
}

/** The line in which a call begins. */
export function beginning(command: CallCommand): Entry {
  return { step: command.step, action: actionOf(command), status: "STARTED", details: null };
}
