/** Everything that can happen next in a world, good and bad. */
import { needsStart } from "../../../../src/core/saga/advance.ts";
import { childEnded, endOf, received, timeOver } from "../../../../src/core/saga/arrival.ts";
import { control, started } from "../../../../src/core/saga/entry.ts";
import {
  next,
  turnEntry,
  type CallCommand,
  type Outcome,
  type WaitCommand,
} from "../../../../src/core/saga/interpreter.ts";
import { CLAIMABLE } from "../../../../src/core/saga/machine.ts";
import { isPart } from "../../../../src/core/saga/part-name.ts";
import type { PlannedStep } from "../../../../src/core/saga/plan.ts";
import { reversalOf, type StepState } from "../../../../src/core/saga/state.ts";
import { awaitedDetails, endArrivesAs } from "../../../../src/core/saga/steps/child.ts";
import { listingDetails } from "../../../../src/core/saga/steps/each.ts";
import { roundDetails } from "../../../../src/core/saga/steps/repeat.ts";
import { arrivalNames, type Arrival } from "../../../../src/core/saga/steps/wait.ts";
import { canTurn } from "../../../../src/core/saga/undoing.ts";
import { allowedActions, skippable } from "../../../../src/sagas/view/operators.ts";
import { checkCall, type Report } from "./invariants.ts";
import { beginning, factsOf, settle, write } from "./lines.ts";
import type { Effect, World } from "./world.ts";

export type Step = readonly [name: string, world: World];

export function eventsOf(world: World, report: Report): Step[] {
  return [...workerEvents(world, report), ...outsideEvents(world), ...orders(world)];
}

function workerEvents(world: World, report: Report): Step[] {
  if (!CLAIMABLE.includes(world.state.status)) return [];
  if (!world.isHeld) return [["claims", write({ ...world, isHeld: true }, control("$claim", {}), false)]];
  const steps: Step[] = world.calling.flatMap((call) => ends(world, call));
  if (world.troubles > 0) steps.push(...crashes(world));
  const command = next(world.state, factsOf(world));
  switch (command.kind) {
    case "act":
    case "undo":
      return [...steps, ...doing(world, command, report)];
    case "group":
      return [...steps, ...command.acts.flatMap((act) => doing(world, act, report))];
    case "turn":
      return [...steps, ["turns", write(world, turnEntry(world.state, command.why), true)]];
    case "wait":
      return world.calling.length > 0 ? steps : [...steps, ...waiting(world, command)];
    default:
      return steps;
  }
}

/** Begins a call, or makes one that has begun. */
function doing(world: World, command: CallCommand, report: Report): Step[] {
  if (world.calling.some(({ kind, step }) => kind === command.kind && step === command.step)) return [];
  if (needsStart(world.state, command))
    return [[`begins ${command.kind} ${command.step}`, write(world, beginning(command), false)]];
  checkCall(world, command, report);
  const after = { ...world, calling: [...world.calling, command] };
  return [[`calls ${command.kind} ${command.step}`, after]];
}

/** Each call that runs may have happened by then. */
function crashes(world: World): Step[] {
  const { calling, troubles } = world;
  const gone: World = { ...world, isHeld: false, calling: [], troubles: troubles - 1 };
  const worlds = calling.reduce<World[]>(
    (all, call) => all.flatMap((one) => [one, happened(one, call)]),
    [gone],
  );
  return worlds.map((after, number) => [`crashes (${number})`, after]);
}

/** The call has taken effect, whatever becomes of its answer. A transactional one takes effect with its line. */
function happened(world: World, { kind, step, index }: CallCommand): World {
  const planned = world.plan[index] as PlannedStep;
  if (planned.atomic || planned.choice || (planned.each && !isPart(step))) return world;
  if (planned.child !== undefined) return kind === "act" ? childStarted(world, index) : childUndone(world);
  const was = world.effects[step];
  if (kind === "act" || planned.end)
    return was === undefined || was === "refused" ? affected(world, step, "done") : world;
  const names = planned.repeat
    ? Object.keys(world.effects).filter((one) => one.startsWith(`${step}[`))
    : [step];
  return names.reduce((one, name) => affected(one, name, "undone"), world);
}

function affected(world: World, name: string, effect: Effect): World {
  return { ...world, effects: { ...world.effects, [name]: effect } };
}

const childId = ({ childNumber }: World): string => `c${childNumber}`;

/** A step has one child: it is found again. After one that failed, a person may have another one started. */
function childStarted(world: World, index: number): World {
  const wanted = ((world.state.steps[index] as StepState).failedChildren ?? 0) + 1;
  return world.childNumber === wanted ? world : { ...world, childNumber: wanted, child: "open" };
}

/** An open child is cancelled, and one that has completed is taken back. Where there is none, none can begin any more. */
function childUndone(world: World): World {
  const { child } = world;
  if (child === undefined) return { ...world, childNumber: 1, child: "failed" };
  if (child === "open") return { ...world, child: "cancelled" };
  return child === "completed" ? { ...world, child: "reversing" } : world;
}

const failure = (kind: "retry" | "terminal" | "err"): Outcome => ({
  kind: "failed",
  transient: kind === "retry",
  failure: { kind, label: "E" },
});

/** How a call can end. */
function ends(world: World, command: CallCommand): Step[] {
  const { kind, step, index } = command;
  const planned = world.plan[index] as PlannedStep;
  const name = `${kind} ${step}`;
  const after = happened(world, command);
  const steps: Step[] = successes(after, command).map((outcome, number) => [
    `${name}: ok ${number}`,
    settle(after, command, outcome),
  ]);
  if (world.troubles === 0) return steps;
  const worse = { troubles: world.troubles - 1 };
  for (const one of after === world ? [world] : [world, after]) {
    const how = one === after ? "happens and" : "";
    steps.push([`${name} ${how} throws`, settle({ ...one, ...worse }, command, failure("retry"))]);
    steps.push([
      `${name} ${how} throws Terminal`,
      settle({ ...one, ...worse }, command, failure("terminal")),
    ]);
  }
  const was = world.effects[step];
  const mayRefuse = kind === "act" && !planned.choice && !planned.end && planned.child === undefined;
  if (mayRefuse && (!planned.each || isPart(step)) && (was === undefined || was === "refused")) {
    const no = affected({ ...world, ...worse }, step, "refused");
    steps.push([
      `${name}: Err`,
      settle(planned.atomic ? { ...world, ...worse } : no, command, failure("err")),
    ]);
  }
  return steps;
}

const TWO = listingDetails([
  { key: "x", json: "1" },
  { key: "y", json: "2" },
]);
/** A list is recorded in several lines if it is long. */
const CHUNKS = ['{"items":[["x",1]],"more":true}', '{"items":[["y",2]]}'];

/** What a call may answer, where the answer decides how the saga goes on. `world`: after the call has happened. */
function successes(world: World, { kind, step, index }: CallCommand): readonly Outcome[] {
  const { choice, each, repeat, child } = world.plan[index] as PlannedStep;
  const ok = (details: string | null, goesOn?: readonly string[]): Outcome => ({
    kind: "ok",
    details,
    goesOn,
  });
  if (child !== undefined) {
    if (kind === "act") return [ok(null, [awaitedDetails({ saga: childId(world) })])];
    if (world.child === "failed" || world.child === "undone") return [ok(null)];
    const isReversal = world.child === "reversing";
    const saga = isReversal ? `${childId(world)}~` : childId(world);
    return [ok(null, [awaitedDetails({ saga, ...(isReversal && { isReversal }) })])];
  }
  if (kind === "undo") return [ok(null)];
  if (choice) return [ok("true"), ok("false")];
  if (each && !isPart(step)) return [ok(null, listingDetails([])), ok(null, TWO), ok(null, CHUNKS)];
  if (repeat) return [ok(roundDetails("1", false)), ...(repeat.until ? [] : [ok(roundDetails("1", true))])];
  return [ok(null)];
}

/** A wait that is over ends. Otherwise the worker waits too. */
function waiting(world: World, command: WaitCommand): Step[] {
  const { state, isOver } = world;
  if (needsStart(state, command))
    return [[`waits at ${command.step}`, write({ ...world, isOver: false }, started(command.step), false)]];
  const arrivals = world.arrivals.map((name, index): Arrival => ({ number: index + 1, name, payload: null }));
  const end = endOf(state, command, arrivals, () => isOver);
  if (!end) return [];
  const ended = { ...world, isOver: false };
  if (!end.arrival)
    return [[`${command.step} has waited`, write(ended, timeOver(state, command, end.name), true)]];
  const { number } = end.arrival;
  const { child, wait } = state.plan[command.index] as PlannedStep;
  const line =
    child === undefined
      ? received(command, number, null, wait?.any ? end.name : undefined)
      : childEnded(
          state,
          command,
          number,
          { status: world.child === "completed" ? "COMPLETED" : "FAILED" },
          "1",
        );
  return [[`${command.step} receives ${end.arrival.name}`, write(ended, line, true)]];
}

/** Signals, time, and the ends of children. */
function outsideEvents(world: World): Step[] {
  const { plan, state, arrivals, troubles, expired } = world;
  const steps: Step[] = [];
  const sent = (one: World, name: string): World => ({ ...one, arrivals: [...one.arrivals, name] });
  const end = endArrivesAs(childId(world));
  if (world.child === "open" || world.child === "cancelled")
    steps.push(["the child completes", sent({ ...world, child: "completed" }, end)]);
  if (world.child === "cancelled" || (world.child === "open" && troubles > 0)) {
    const left = world.child === "open" ? troubles - 1 : troubles;
    steps.push(["the child fails", sent({ ...world, child: "failed", troubles: left }, end)]);
  }
  if (world.child === "reversing")
    steps.push(["the child is taken back", sent({ ...world, child: "undone" }, `${end}~`)]);
  if (!CLAIMABLE.includes(state.status)) return steps;
  const names = plan.flatMap(({ name, wait, repeat }) => {
    const awaited = wait ?? repeat?.until;
    return awaited ? arrivalNames(name, awaited) : [];
  });
  for (const name of new Set(names))
    if (!arrivals.includes(name)) steps.push([`${name} comes`, sent(world, name)]);
  const command = next(state, factsOf(world));
  if (command.kind === "wait" && command.limitMs !== undefined && !world.isOver)
    steps.push([`time passes for ${command.step}`, { ...world, isOver: true }]);
  if (!expired && troubles > 0)
    steps.push(["the deadline passes", { ...world, expired: true, troubles: troubles - 1 }]);
  return steps;
}

/** What people do. */
function orders(world: World): Step[] {
  const { state, reversals } = world;
  const steps: Step[] = [];
  const actions = allowedActions(state);
  if (reversals > 0 && actions.includes("reverse") && !world.resolved) {
    const reversal = reversalOf(state);
    const undone = {
      ...world,
      state: reversal,
      reversals: 0,
      expired: false,
      arrivals: [],
    };
    steps.push(["is taken back", undone]);
  }
  if (world.orders === 0) return steps;
  const left = { ...world, orders: world.orders - 1 };
  const order = (name: string, line: ReturnType<typeof control>, more: Partial<World> = {}): void =>
    void steps.push([name, ordered({ ...left, ...more }, line)]);
  const note = { reason: "why" };
  if (actions.includes("cancel")) {
    const isStalled = state.status === "STALLED";
    const cancelling = { ...state, cancel: note };
    if (!isStalled || canTurn(state))
      order("cancel", isStalled ? turnEntry(cancelling, "cancelled") : control("$cancel", note));
  }
  if (actions.includes("retry")) order("retry", control("$retry", note));
  if (actions.includes("resolve"))
    for (const as of ["COMPLETED", "FAILED"] as const)
      order(`resolve as ${as}`, control("$resolve", { ...note, as }), { resolved: true });
  // Whoever skips has done the work by hand.
  if (actions.includes("skip") && world.calling.length === 0)
    for (const name of skippable(state))
      order(`skip ${name}`, control("$skip", { ...note, step: name }), byHand(world, name));
  return steps;
}

function byHand(world: World, name: string): Partial<World> {
  const { state, plan } = world;
  const index = plan.findIndex((step) => name === step.name || name.startsWith(`${step.name}[`));
  const planned = plan[index] as PlannedStep;
  const isUndo = state.status === "STALLED" && state.stall?.kind === "undo-failed";
  if (planned.child !== undefined) return isUndo ? { child: "undone" } : { resolved: true };
  if (!isUndo) return { resolved: true };
  const own = planned.repeat
    ? Object.keys(world.effects).filter((one) => one.startsWith(`${name}[`))
    : [name];
  const effect: Effect = planned.end ? "done" : "undone";
  return { effects: own.reduce((all, one) => ({ ...all, [one]: effect }), world.effects) };
}

/** A line from outside. The worker that has the saga keeps it where its status does not change. */
function ordered(world: World, line: ReturnType<typeof control>): World {
  const after = write(world, line, false);
  return after.state.status === world.state.status ? after : { ...after, isHeld: false, calling: [] };
}
