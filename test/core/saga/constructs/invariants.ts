/** What must hold when a call is made, and in every world that can be reached. */
import { control } from "../../../../src/core/saga/entry.ts";
import { evolve } from "../../../../src/core/saga/evolve.ts";
import { next, type CallCommand } from "../../../../src/core/saga/interpreter.ts";
import { CLAIMABLE, sagaMachine } from "../../../../src/core/saga/machine.ts";
import { isPart, partName, partOf } from "../../../../src/core/saga/part-name.ts";
import type { PlannedStep } from "../../../../src/core/saga/plan.ts";
import { arrivalNames, type Alternative } from "../../../../src/core/saga/steps/wait.ts";
import { allowedActions } from "../../../../src/sagas/view/operators.ts";
import { factsOf } from "./lines.ts";
import { isLeft, isOnWay, stateOf, unitsOf, type Unit, type World } from "./world.ts";

export type Rule =
  | "S-06"
  | "S-07"
  | "S-08"
  | "S-10"
  | "S-12"
  | "S-14"
  | "S-33"
  | "S-34"
  | "S-35"
  | "S-36"
  | "S-37"
  | "S-46"
  | "K-13"
  | "K-14"
  | "T-END";
export type Report = (rule: Rule, what: string) => void;

/** Of a call that is about to be made. */
export function checkCall(world: World, command: CallCommand, report: Report): void {
  const own = stateOf(world.state, command.step);
  if ((command.kind === "act" ? own.act : own.undo) !== "begun")
    report("S-07", `${command.kind} of ${command.step} is called and has not begun`);
  if (command.kind === "act") checkAct(world, command, report);
  else checkUndo(world, command, report);
}

function checkAct(world: World, { step, index }: CallCommand, report: Report): void {
  const { plan, state, recorded, effects, calling } = world;
  const planned = plan[index] as PlannedStep;
  const { number } = partOf(step);
  if (state.status !== "RUNNING") report("S-06", `${step} is called while the saga is ${state.status}`);
  if (state.failure && !world.resolved) report("S-33", `${step} is called after a failure`);
  if (recorded[step] === "done") report("S-08", `${step} is called again, although it is done`);
  if (effects[step] === "undone" && !world.resolved) report("S-06", `${step} is called after it was undone`);
  if (planned.choice && recorded[step] !== undefined) report("S-34", `${step} is asked again`);
  if (!isOnWay(world, index)) report("S-34", `${step} is begun, and its branch was not chosen`);
  if (planned.each && number === undefined && recorded[step] !== undefined)
    report("S-33", `the list of ${step} is computed again`);
  if (planned.each && number !== undefined) {
    if (number >= Number(recorded[planned.name] ?? 0))
      report("S-33", `${step} is called before it is recorded`);
    if (calling.length >= planned.each.limit)
      report("S-33", `more than ${planned.each.limit} items act at once`);
  } else if (calling.length > 0) report("S-12", `${step} is called beside ${calling[0]?.step ?? ""}`);
  if (planned.repeat && number !== undefined) {
    if (number > planned.repeat.max) report("S-35", `${step} is more than ${planned.repeat.max} rounds`);
    if (number > 1 && recorded[partName(planned.name, number - 1)] !== "done")
      report("S-35", `${step} is called before the round before it is done`);
  }
  if (planned.end === "completed" && !world.resolved) {
    const open = missing(world);
    if (open !== undefined) report("S-46", `${step} is called before ${open} is done`);
  }
}

function checkUndo(world: World, { step, index }: CallCommand, report: Report): void {
  const { plan, state, begun, calling } = world;
  const planned = plan[index] as PlannedStep;
  const isBack = state.isReversal ? state.status === "RUNNING" : state.status === "COMPENSATING";
  if (!isBack) report("S-06", `${step} is undone while the saga is ${state.status}`);
  if (calling.length > 0) report("S-12", `${step} is undone beside a call of ${calling[0]?.step ?? ""}`);
  const units = unitsOf(world);
  const isOpen = ({ step: { undo } }: Unit): boolean =>
    undo !== "failed" && undo !== "skipped" && undo !== "done";
  if (planned.end) {
    const left = units.find(
      (unit) => isLeft(world, unit) && unit.planned.undo && unit.step.undo !== "skipped",
    );
    if (left && !world.resolved) report("S-46", `${step} is called while ${left.name} is left`);
    if (state.isReversal) report("S-36", `${step} follows a reversal`);
    return;
  }
  const hasBegun = planned.repeat ? [...begun].some((one) => partOf(one).step === step) : begun.has(step);
  if (!hasBegun) report("S-10", `${step} is undone and never began`);
  const at = units.findIndex(({ name }) => name === step);
  const later = units.slice(at + 1).find((unit) => isLeft(world, unit) && unit.planned.undo && isOpen(unit));
  if (later) report("S-10", `${step} is undone before ${later.name}`);
}

/** The first thing that a completed saga should have done and has not. */
function missing(world: World): string | undefined {
  const { plan, state, recorded, begun } = world;
  for (const [index, { name, each, repeat, child, end, choice }] of plan.entries()) {
    const step = state.steps[index];
    if (end || !isOnWay(world, index) || step?.act === "skipped") continue;
    if (choice && recorded[name] === undefined) return name;
    if (each && recorded[name] === undefined) return name;
    if (child !== undefined && world.child !== "completed") return name;
    if (repeat) {
      const open = [...begun].find(
        (one) => isPart(one) && partOf(one).step === name && recorded[one] !== "done",
      );
      if (open !== undefined) return open;
    }
    if (step?.act !== "done") return name;
  }
  return unitsOf(world).find(
    ({ index, planned, step, effects }) =>
      isOnWay(world, index) &&
      planned.child === undefined &&
      step.act !== "skipped" &&
      effects.some((name) => world.effects[name] !== "done"),
  )?.name;
}

/** Of one world. */
export function checkWorld(world: World, report: Report): void {
  const { state, plan, effects, resolved, begun } = world;
  const { status } = state;
  if (!resolved) {
    const left = unitsOf(world).find(
      (unit) => isLeft(world, unit) && unit.planned.undo && unit.step.undo !== "skipped",
    );
    const stray = unitsOf(world).find((unit) => isLeft(world, unit) && !isOnWay(world, unit.index));
    if (stray) report("S-34", `${stray.name} has happened in a branch that was not chosen`);
    if (status === "FAILED" && left) report("S-14", `FAILED, and ${left.name} is left`);
    if (state.isReversal && status === "COMPLETED" && left)
      report("S-36", `taken back, and ${left.name} is left`);
    const open = status === "COMPLETED" && !state.isReversal ? missing(world) : undefined;
    if (open !== undefined) report("S-14", `COMPLETED, and ${open} is not done`);
    checkEnds(world, report);
  }
  const isEnding = begun.has("onCompleted") && status === "COMPENSATING" && !resolved;
  if (isEnding && state.resolved === undefined) report("S-46", "it turns back after onCompleted has begun");
  checkFirst(world, report);
  if (CLAIMABLE.includes(status)) {
    const command = next(state, factsOf(world));
    if (command.kind === "end" || ("index" in command && command.index < 0))
      report("S-14", `${status} without a next command`);
    return;
  }
  if (world.calling.length > 0) report("S-12", `${status} while ${world.calling[0]?.step ?? ""} is called`);
  if (next(state, factsOf(world)).kind !== "end") report("K-13", `${status}, and something is next`);
  if (status === "STALLED") {
    for (const action of ["retry", "resolve"] as const)
      if (!allowedActions(state).includes(action)) report("S-14", `stalled without ${action}`);
    return;
  }
  for (const name of ["$claim", "$release", "$cancel", "$stall", "$turn"] as const) {
    try {
      if (evolve(state, control(name, {})).status !== status)
        report("K-13", `${name} moves a saga that is ${status}`);
    } catch {
      // Refused, as it should be.
    }
  }
  if (effects["onCompleted"] === "done" && status === "FAILED" && !resolved)
    report("S-46", "FAILED after onCompleted");
  if (plan.length !== state.steps.length) report("K-14", "a step is lost");
}

/** What follows an end has happened exactly where the saga has ended like that. */
function checkEnds({ plan, state, effects }: World, report: Report): void {
  const { status, isReversal } = state;
  if (isReversal || !sagaMachine.isTerminal(status)) return;
  for (const [index, { name, end }] of plan.entries()) {
    if (!end) continue;
    const isDue = end === (status === "COMPLETED" ? "completed" : "failed");
    const isSkipped = state.steps[index]?.act === "skipped" || state.steps[index]?.undo === "skipped";
    const happened = effects[name] === "done";
    if (isDue && !happened && !isSkipped) report("S-46", `${status} without ${name}`);
    if (!isDue && happened) report("S-46", `${status} with ${name}`);
  }
}

/** Of several things that a step waits for, the one that arrived first has ended the wait. */
function checkFirst({ plan, state, arrivals }: World, report: Report): void {
  for (const [index, { name, wait }] of plan.entries()) {
    const { act, result, received } = state.steps[index] ?? {};
    if (!wait?.any || act !== "done" || state.isReversal) continue;
    const { which } = result as { which: string };
    const chosen = wait.any.find((one) => one.name === which);
    if (!chosen) report("S-37", `${which} is none of what is waited for`);
    if (received === undefined) {
      if (chosen?.kind !== "sleep") report("S-37", `${which} came first and did not arrive`);
      continue;
    }
    const nameOf = (one: Alternative): string | undefined =>
      arrivalNames(name, { kind: "any", any: [one] })[0];
    const names = wait.any.map(nameOf);
    const first = arrivals.find((one) => names.includes(one));
    if (chosen && nameOf(chosen) !== first)
      report("S-37", `${which} ended the wait, and ${String(first)} came first`);
  }
}

/** Of what led from one world to another. */
export function checkStep(before: World, after: World, report: Report): void {
  const [from, to] = [before.state, after.state];
  if (to.isReversal && !from.isReversal) return;
  if (from.status !== to.status && !sagaMachine.arrow(from.status, to.status))
    report("K-14", `${from.status} became ${to.status}`);
  if (sagaMachine.isTerminal(from.status) && from.status !== to.status)
    report("K-13", `${from.status} became ${to.status}`);
  if (from.status === "COMPENSATING" && to.status === "RUNNING")
    report("S-06", "from COMPENSATING to RUNNING");
  for (const [name, what] of Object.entries(before.recorded)) {
    const isLonger = isPart(name) || before.plan.find((step) => step.name === name)?.each;
    if (after.recorded[name] !== what && !isLonger) report("S-08", `${name} was recorded as ${what} before`);
  }
}
