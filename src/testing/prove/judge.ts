/**
 * Checks the recorded calls against the outcome of the saga: every possible effect belongs to a completed saga, or
 * was undone afterwards. Pure, and independent of the engine: it uses only the recorded calls.
 */
import type { Direction } from "../../core/identity.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import { isPart, stepOf } from "../../core/saga/part-name.ts";
import type { Plan, PlannedStep } from "../../core/saga/plan.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import { isWithin, itemName, nameIn, roundName } from "./tree.ts";
import { callName, KINDS, type Schedule } from "./trouble.ts";

export interface Call {
  /** The name of the step, of the item or of the round, as in a seed. */
  readonly step: string;
  readonly action: Direction;
  readonly key: string;
  /** The result of the step's code; undefined if it did not run, or has not ended. */
  answer?: "ok" | "err" | "thrown";
  /** True if the step's code ran. */
  made: boolean;
  /** Of a step with a list: the keys of the items that it computed. */
  listed?: readonly string[];
  /** Of a choice: the answer. */
  chosen?: boolean;
}

/** The child that a step has started. */
export interface ChildEvidence {
  readonly plan: Plan;
  /** Undefined if there is none. */
  readonly status: SagaStatus | undefined;
}

export interface Evidence {
  readonly plan: Plan;
  readonly calls: readonly Call[];
  readonly schedule: Schedule;
  /** The outcome of the saga; undefined if it did not end. */
  readonly outcome: SagaOutcome | undefined;
  /** Transactional steps that are recorded as completed: only those have effects. */
  readonly committed: ReadonlySet<string>;
  readonly recoveryMax: number;
  /** By the name of the step that starts the child. */
  readonly children?: ReadonlyMap<string, ChildEvidence>;
  /** The completed saga was taken back. */
  readonly isReversed?: boolean;
  /** The name in seeds of a step, item or round that the outcome names. */
  readonly nameOf?: (logged: string) => string;
}

/** One saga of the family: the one that is proven, or a child. */
interface Judged {
  readonly path: string;
  readonly plan: Plan;
  readonly status: SagaStatus | undefined;
  /** Its effects are to stay; otherwise they are to be undone. */
  readonly stays: boolean;
}

/** The problem in words; undefined if there is none. */
export function judge(evidence: Evidence): string | undefined {
  const { outcome, plan, isReversed } = evidence;
  if (!outcome) return "it has neither ended nor stalled";
  const { status } = outcome;
  const odd = otherKey(evidence.calls);
  if (odd) return odd;
  if (status === "STALLED" && !isExplained(evidence, outcome))
    return `it stalled, and nothing in this schedule explains it: ${outcome.reason}`;
  const stays = status === "COMPLETED" && !isReversed;
  const problem = status === "STALLED" ? undefined : problemOf(evidence, { path: "", plan, status, stays });
  return problem ?? calledAgain(evidence);
}

/** Steps without a compensation that may have had effects in a failed saga or fallback. */
export function withoutUndo(evidence: Evidence): readonly string[] {
  const { plan, outcome, isReversed } = evidence;
  const isUndone = outcome?.status === "FAILED" || (outcome?.status === "COMPLETED" && isReversed === true);
  const isOutOfPlace = (path: string, step: PlannedStep): boolean =>
    isUndone || (outcome?.status === "COMPLETED" && isPassedOver(evidence, path, step));
  const all = (path: string, steps: Plan): readonly string[] =>
    steps.flatMap((step) => {
      const name = nameIn(path, step.name);
      const child = step.child === undefined ? undefined : evidence.children?.get(name);
      if (child) return all(name, child.plan);
      const mayAct = !step.undo && !step.choice && !step.end && isOutOfPlace(path, step);
      return mayAct && effectsOf(evidence, path, step).some(({ at }) => at >= 0) ? [name] : [];
    });
  return all("", plan);
}

function isPassedOver({ calls }: Evidence, path: string, { fallback }: PlannedStep): boolean {
  return fallback !== undefined && calls.some(({ step }) => step === nameIn(path, fallback));
}

function otherKey(calls: readonly Call[]): string | undefined {
  const keys = new Map<string, string>();
  const names = new Map<string, string>();
  for (const call of calls) {
    const name = callName(call);
    const key = keys.get(name) ?? call.key;
    if (key !== call.key) return `${name} was called under two keys: ${key} and ${call.key}`;
    keys.set(name, key);
    const other = names.get(key) ?? name;
    if (other !== name) return `${other} and ${name} were called under one key: ${key}`;
    names.set(key, name);
  }
  return undefined;
}

/** Without a crash and without a lost answer, nothing that has succeeded is called again. */
function calledAgain({ calls, schedule, children }: Evidence): string | undefined {
  if (schedule.some(({ kind }) => KINDS[kind].crash === true || KINDS[kind].moment !== "before"))
    return undefined;
  const succeeded = new Set<string>();
  for (const call of calls) {
    const name = callName(call);
    // A child that completes although it was to be cancelled is undone once more.
    if (children?.has(call.step)) continue;
    if (succeeded.has(name)) return `${name} was called again, although it had succeeded`;
    if (call.answer === "ok") succeeded.add(name);
  }
  return undefined;
}

function problemOf(evidence: Evidence, saga: Judged): string | undefined {
  for (const planned of saga.plan) {
    const name = nameIn(saga.path, planned.name);
    const problem = problemAt(evidence, saga, planned, name);
    if (problem) return problem;
    const child = planned.child === undefined ? undefined : evidence.children?.get(name);
    const isOnWay = isChosen(evidence, saga, planned);
    const inner = child && problemOf(evidence, { path: name, ...child, stays: saga.stays && isOnWay });
    if (inner) return inner;
  }
  return undefined;
}

function problemAt(evidence: Evidence, saga: Judged, planned: PlannedStep, name: string): string | undefined {
  const { calls } = evidence;
  if (planned.end) return endProblem(evidence, saga, planned, name);
  const own = calls.filter(({ step }) => stepOf(step) === name);
  if (!isChosen(evidence, saga, planned))
    return own.length > 0 ? `${name} was called, although its branch was not chosen` : undefined;
  const odd = planned.each && strayItem(own, name);
  if (odd) return odd;
  if (!saga.stays) return notUndone(evidence, saga.path, planned);
  return halfDone(evidence, saga, planned, own);
}

/** True if the step is in no branch, or in one that was chosen. Of several answers the last one was recorded. */
function isChosen({ calls }: Evidence, { path, plan }: Judged, { branch }: PlannedStep): boolean {
  for (let one = branch; one;) {
    const { choice, when } = one;
    const name = nameIn(path, choice);
    if (calls.findLast(({ step, chosen }) => step === name && chosen !== undefined)?.chosen !== when)
      return false;
    one = plan.find((planned) => planned.name === choice)?.branch;
  }
  return true;
}

/** Items belong to the list that was recorded, and the list is recorded before the first of them begins. */
function strayItem(own: readonly Call[], name: string): string | undefined {
  const at = own.findLastIndex(({ listed }) => listed !== undefined);
  const items = own[at]?.listed?.map((key) => itemName(name, key)) ?? [];
  for (const [index, { step }] of own.entries()) {
    if (!isPart(step)) continue;
    if (index < at) return `the list of ${name} was computed again after ${step} was called`;
    if (!items.includes(step)) return `${step} was called, and is not in the list`;
  }
  return undefined;
}

function halfDone(
  evidence: Evidence,
  saga: Judged,
  planned: PlannedStep,
  calls: readonly Call[],
): string | undefined {
  const { wait, instead, each, repeat, child } = planned;
  const name = nameIn(saga.path, planned.name);
  if (isPassedOver(evidence, saga.path, planned)) return notUndone(evidence, saga.path, planned);
  if (wait || (instead !== undefined && calls.length === 0)) return undefined;
  const own = calls.filter(({ made }) => made);
  const undone = own.find(({ action }) => action === "compensate");
  if (undone) return `it completed, but ${undone.step} was undone`;
  const status = child === undefined ? undefined : evidence.children?.get(name)?.status;
  if (child !== undefined && status !== "COMPLETED")
    return `it completed, but its child ${name} is ${status ?? "missing"}`;
  if (repeat) {
    const rounds = new Set(own.map(({ step }) => step)).size;
    if (rounds > repeat.max) return `it completed, but ${name} had more than ${repeat.max} rounds`;
    const mayHaveNone = repeat.until !== undefined && repeat.delayMs !== undefined;
    return neverDone(own, roundsUpTo(name, mayHaveNone ? rounds : Math.max(1, rounds)));
  }
  const items = each && own.findLast(({ listed }) => listed !== undefined)?.listed;
  return neverDone(own, [name, ...(items ?? []).map((key) => itemName(name, key))]);
}

function roundsUpTo(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => roundName(name, index + 1));
}

/** The first of these calls that never succeeded. */
function neverDone(own: readonly Call[], names: readonly string[]): string | undefined {
  const done = new Set(own.filter(({ answer }) => answer === "ok").map(({ step }) => step));
  const missing = names.find((name) => !done.has(name));
  return missing === undefined ? undefined : `it completed, but ${missing} never succeeded`;
}

/** What follows an end follows that end alone, once everything else is over. */
function endProblem(
  { calls, committed, isReversed }: Evidence,
  { path, status, stays }: Judged,
  { end, atomic }: PlannedStep,
  name: string,
): string | undefined {
  const own = (call: Call): boolean => call.step === name && call.answer === "ok";
  const happened = atomic ? committed.has(name) : calls.some(own);
  if (end !== (status === "COMPLETED" ? "completed" : status === "FAILED" ? "failed" : undefined))
    return happened ? `${name} followed, and the saga did not end like that` : undefined;
  const ended = status === "COMPLETED" ? "completed" : "failed";
  if (!happened) return `it ${ended}, but ${name} never succeeded`;
  // A completed saga that is taken back is undone after its end.
  if (status === "COMPLETED" && (!stays || isReversed)) return undefined;
  const at = calls.findIndex(own);
  const late = calls.find(({ step }, index) => index > at && step !== name && isWithin(step, path));
  return late && `${callName(late)} was called after ${name}`;
}

/** The effects of one step: those of each item are undone by themselves, those of all rounds together. */
interface Effects {
  /** The name of what is called to undo them. */
  readonly undo: string;
  /** The last position in the record at which they may have happened; -1 if they did not. */
  readonly at: number;
}

function effectsOf(evidence: Evidence, path: string, planned: PlannedStep): readonly Effects[] {
  const { calls, committed } = evidence;
  const name = nameIn(path, planned.name);
  // A child undoes its own effects.
  if (planned.child !== undefined || (planned.atomic && !committed.has(name))) return [];
  const isEffect = ({ step, action, made, answer }: Call, of: (step: string) => boolean): boolean =>
    of(step) && action === "act" && made && (answer !== "err" || planned.undoOnErr);
  if (!planned.each) {
    const isOwn = (step: string): boolean => stepOf(step) === name;
    return [{ undo: name, at: calls.findLastIndex((call) => isEffect(call, isOwn)) }];
  }
  const items = calls.filter(({ step }) => isPart(step) && stepOf(step) === name).map(({ step }) => step);
  return [...new Set(items)].map((item) => ({
    undo: item,
    at: calls.findLastIndex((call) => isEffect(call, (step) => step === item)),
  }));
}

function notUndone(evidence: Evidence, path: string, planned: PlannedStep): string | undefined {
  if (!planned.undo) return undefined;
  const left = effectsOf(evidence, path, planned).find(({ undo, at }) => {
    const undone = evidence.calls.findLastIndex(
      ({ step, action, answer }) => step === undo && action === "compensate" && answer === "ok",
    );
    return at >= 0 && undone < at;
  });
  return left && `${left.undo} may have happened, and was not undone after that`;
}

/** A saga may stall if a compensation failed, or a step after the pivot failed. */
function isExplained(
  { schedule, recoveryMax, nameOf = (name) => name }: Evidence,
  outcome: Extract<SagaOutcome, { status: "STALLED" }>,
): boolean {
  const isStopped = (logged: string | undefined, action: Direction): boolean => {
    const step = logged === undefined ? undefined : nameOf(logged);
    return schedule.some((trouble) => {
      const isMeant = trouble.step === step || (step !== undefined && isWithin(trouble.step, step));
      return isMeant && trouble.action === action && KINDS[trouble.kind].lasting === true;
    });
  };
  if (outcome.undoErrors.length > 0)
    return outcome.undoErrors.every(({ step }) => isStopped(step, "compensate"));
  const crashes = schedule.filter(({ kind }) => KINDS[kind].crash === true).length;
  return isStopped(outcome.step, "act") || crashes > recoveryMax;
}
