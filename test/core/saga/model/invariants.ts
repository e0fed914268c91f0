/** What must hold in every world that can be reached, and over every event that leads from one to the next. */
import { control } from "../../../../src/core/saga/entry.ts";
import { next } from "../../../../src/core/saga/interpreter.ts";
import { CLAIMABLE, sagaMachine } from "../../../../src/core/saga/machine.ts";
import { evolve } from "../../../../src/core/saga/evolve.ts";
import { canTurn } from "../../../../src/core/saga/undoing.ts";
import { allowedActions } from "../../../../src/sagas/view/operators.ts";
import { stateKey, type Copy, type World } from "./world.ts";

export type Rule =
  | "S-06"
  | "S-07"
  | "S-10"
  | "S-11"
  | "S-12"
  | "S-14"
  | "S-15"
  | "S-20"
  | "S-22"
  | "K-06"
  | "K-13"
  | "K-14"
  | "K-15";
export type Report = (rule: Rule, what: string) => void;

/** Of one world. */
export function checkWorld(world: World, report: Report): void {
  const { store, effects, plan, resolved, turned } = world;
  const { status, steps } = store.state;
  if (!resolved) {
    plan.forEach((step, index) => {
      const left = effects[index] === "done" || effects[index] === "half";
      const byHand = steps[index]?.undo === "skipped";
      if (status === "FAILED" && left && !byHand && (step.undo || step.pivot)) {
        report(
          steps[index]?.act === "done" ? "S-14" : "S-11",
          `FAILED, but the effect of ${step.name} is left`,
        );
      }
      const isBranch = step.fallback !== undefined || step.instead !== undefined;
      if (status === "COMPLETED" && effects[index] !== "done" && !isBranch) {
        report("S-14", `COMPLETED, but ${step.name} did not happen`);
      }
      if (step.fallback !== undefined) checkBranches(world, index, report);
    });
    if (turned && (status === "RUNNING" || status === "COMPLETED"))
      report("S-06", "forward after turning back");
  }
  const pivot = plan.findIndex((step) => step.pivot);
  if (status === "COMPENSATING" && pivot >= 0) {
    const act = steps[pivot]?.act;
    const sure = effects[pivot] === "done" && (act === "done" || !plan[pivot]?.undo);
    if (sure) report("S-22", "it goes back after its pivot");
  }
  checkWayOn(world, report);
  for (const worker of world.workers) checkWorker(world, worker, report);
  checkOrphan(world, report);
}

/** A worker that still hears a call of its own undoes nothing beside it, and reports no failure. */
function checkOrphan({ orphan, workers, store, resolved }: World, report: Report): void {
  if (!orphan || orphan.answer || orphan.overruled || resolved) return;
  const worker = workers[orphan.who];
  const isAlive = worker.mode !== "idle";
  const own = worker.mode === "calling" ? worker.call : undefined;
  const isSame = own?.kind === orphan.call.kind && own.index === orphan.call.index;
  if (own?.kind === "undo" && !isSame && store.token === (worker as Copy).token)
    report("S-12", `${own.step} is undone while a call of ${orphan.call.step} runs`);
  if (isAlive && store.state.status === "FAILED" && store.token === (worker as Copy).token)
    report("S-12", `FAILED while a call of ${orphan.call.step} runs`);
}

/** One of the two has happened, and of the other nothing is left that could have been taken back. */
function checkBranches({ plan, effects, store }: World, index: number, report: Report): void {
  const { status, steps, pivot } = store.state;
  const { name, undo, fallback } = plan[index] as World["plan"][number];
  const [first, second] = [effects[index], effects[index + 1]];
  const isLeft = (first === "done" || first === "half") && steps[index]?.undo !== "skipped";
  const isBound = undo || (pivot >= 0 && index >= pivot);
  const begun = !["none", "chosen"].includes(steps[index + 1]?.act ?? "none");
  if (begun && isLeft && isBound) report("S-20", `${String(fallback)} begins, but ${name} is left`);
  if (status !== "COMPLETED") return;
  if (begun && second !== "done") report("S-20", `COMPLETED, but ${String(fallback)} did not happen`);
  if (!begun && (first !== "done" || second !== "none"))
    report("S-20", `COMPLETED, but ${name} did not happen`);
}

/** Ended states that were asked already. */
const refusing = new Set<string>();

/** Nothing open is stuck, nothing ended goes on. */
function checkWayOn({ store, expired }: World, report: Report): void {
  const { state } = store;
  const command = next(state, { expired });
  if (CLAIMABLE.includes(state.status)) {
    const index = "index" in command ? command.index : 0;
    if (command.kind === "end" || index < 0) report("S-14", `${state.status} without a next command`);
    return;
  }
  if (command.kind !== "end") report("K-13", `${state.status}, and yet something is next`);
  if (state.status === "STALLED") {
    for (const action of ["retry", "resolve"] as const) {
      if (!allowedActions(state).includes(action)) report("S-14", `stalled without ${action}`);
    }
    return;
  }
  // A reversal is a saga of its own, and leaves this one as it is.
  if (allowedActions(state).some((action) => action !== "reverse"))
    report("K-13", `${state.status}, and yet people may change it`);
  if (refusing.has(stateKey(state))) return;
  refusing.add(stateKey(state));
  for (const name of ["$claim", "$release", "$cancel", "$stall", "$turn"] as const) {
    let after = state;
    try {
      after = evolve(state, control(name, { reason: "why" }));
    } catch {
      continue; // refused, as it should be
    }
    if (after.status !== state.status) report("K-13", `${name} moves a saga that is ${state.status}`);
  }
}

function checkWorker(world: World, worker: World["workers"][number], report: Report): void {
  if (worker.mode === "idle") return;
  const { store, plan, effects, turned } = world;
  const isCurrent = worker.version === store.version;
  if (isCurrent && worker.token !== store.token) report("K-06", "an old token with a current version");
  if (isCurrent && stateKey(worker.state) !== stateKey(store.state)) {
    report("S-15", "the same version stands for two states");
  }
  if (worker.mode === "hearing") return;
  if (worker.mode === "sending") {
    const pivot = plan.findIndex((one) => one.pivot);
    const act = store.state.steps[pivot]?.act ?? "none";
    const late = isCurrent && worker.why.kind === "turn" && act !== "none";
    if (late) report("S-22", "a cancel or a deadline turns it although its pivot has begun");
    return;
  }
  const { kind, index } = worker.call;
  const step = worker.state.steps[index];
  if (kind === "act") {
    if (step?.act !== "begun") report("S-07", "an act is called that was not begun");
    if (isCurrent && effects[index] === "undone") report("S-06", "an act is called whose undo has happened");
    return;
  }
  // Going forward, only a step that was passed over is undone, before its fallback begins.
  const isPassedOver = plan[index]?.fallback !== undefined && worker.state.steps[index + 1]?.act === "chosen";
  const isClearing = isPassedOver && worker.state.status === "RUNNING";
  if (!isClearing && (!turned || worker.state.status !== "COMPENSATING"))
    report("S-06", "an undo before COMPENSATING is durable");
  if (step?.undo !== "begun") report("S-07", "an undo is called that was not begun");
  if (!isCurrent) return;
  for (let later = index + 1; later < plan.length; later++) {
    const left = effects[later] === "done" || effects[later] === "half";
    const settled = ["done", "failed", "skipped"].includes(store.state.steps[later]?.undo ?? "");
    if (left && plan[later]?.undo && !settled) report("S-10", "an undo before that of a later step");
  }
}

/** Of what led from one world to another. */
export function checkStep(before: World, after: World, report: Report): void {
  const [from, to] = [before.store, after.store];
  const { status } = from.state;
  if (status !== to.state.status) {
    if (sagaMachine.isTerminal(status)) report("K-13", `${status} became ${to.state.status}`);
    if (!sagaMachine.arrow(status, to.state.status)) report("K-14", `${status} became ${to.state.status}`);
  }
  const lines = Math.max(
    ...before.workers.map((one) => (one.mode === "sending" ? one.before.length + 1 : 1)),
  );
  if (to.version < from.version || to.version > from.version + lines)
    report("S-15", "a version was left out");
  if (sagaMachine.isTerminal(status) && to.version !== from.version) report("K-13", `a line after ${status}`);
  if (status === "COMPENSATING" && to.state.status === "RUNNING")
    report("S-06", "from COMPENSATING to RUNNING");
  // One undo that fails never stops the others.
  if (to.state.stall?.kind === "undo-failed" && status === "COMPENSATING") {
    after.plan.forEach((step, index) => {
      const undo = to.state.steps[index]?.undo;
      const left = after.effects[index] === "done" || after.effects[index] === "half";
      if (left && step.undo && undo !== "failed" && undo !== "skipped")
        report("S-10", `${step.name} was not tried`);
    });
  }
  const isOrder = after.orders < before.orders;
  if (isOrder && status === "STALLED" && to.state.status === "STALLED") {
    report("S-14", "an order of a person that changes nothing");
  }
  const { failure } = to.state;
  const pivot = after.plan.findIndex((step) => step.pivot);
  const failed = after.plan.findIndex((step) => step.name === failure?.step);
  if (failure?.kind === "exhausted" && pivot >= 0 && failed > pivot && !after.plan[failed]?.pivot)
    report("S-22", "given up after the pivot");
  for (const who of [0, 1] as const) {
    const line = before.workers[who];
    const wrote = to.version > from.version && line.mode === "sending" && after.workers[who] !== line;
    if (wrote && to.token === from.token && !line.landed && line.token !== from.token) {
      report("K-06", "a line under an old token was taken");
    }
  }
  if (status === "RUNNING" && to.state.status === "COMPENSATING" && !canTurn(from.state)) {
    const refusedPivot = to.state.steps.some(
      (step, index) => after.plan[index]?.pivot && step.act === "refused",
    );
    if (!refusedPivot) report("S-22", "it turned where it could not");
  }
}
