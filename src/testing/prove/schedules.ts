/**
 * Selects the schedules to run. First every failure at every observed call; then, if that led to compensation or a
 * fallback, every failure at every compensation and fallback that followed; then every call in doubt before every
 * failure. Pure: the same runs give the same list.
 */
import { AmendsError } from "../../core/errors.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { StepDefinition } from "../../sagas/define/settings.ts";
import { callName, KINDS, type Schedule, type Trouble, type TroubleKind } from "./trouble.ts";

/** A call that was made in a run. */
export type Place = Pick<Trouble, "step" | "action">;

/** The steps that may return err, and the waiting steps whose signal or event can be left out. */
export interface Allowances {
  readonly errs: ReadonlySet<string>;
  readonly signalled: ReadonlySet<string>;
}

/** Options must name existing steps: a misspelt step would never be tested. */
export function checkSaga(saga: AnySaga, { errs, signalled }: Allowances): void {
  if (!Array.isArray((saga as Partial<AnySaga> | undefined)?.steps)) {
    throw new AmendsError(
      "BAD_OPTION",
      "prove: give a saga that `saga(…)` has made, or a function that returns one.",
    );
  }
  const isWait = new Map(saga.steps.map(({ name, planned }) => [name, planned.wait !== undefined]));
  const wrong =
    [...errs].find((name) => isWait.get(name) !== false) ?? [...signalled].find((name) => !isWait.get(name));
  if (wrong === undefined) return;
  throw new AmendsError(
    "BAD_OPTION",
    `prove: saga ${saga.name} has no step ${wrong} for that. \`errs\` names steps that act, \`tell\` steps that wait.`,
  );
}

/** The failures that leave a call in doubt, and those that fail it afterwards. */
const DOUBTS: readonly TroubleKind[] = ["crash-answered", "lost"];
const FAILURES: readonly TroubleKind[] = ["terminal", "err"];

/** These leave the same state as `terminal` and `lost-always`, so one of each is enough for follow-up schedules. */
const ALIKE: readonly TroubleKind[] = ["fail", "hang", "hang-done"];

/** Schedules with one failure. */
export function singles(saga: AnySaga, calls: readonly Place[], allowances: Allowances): readonly Schedule[] {
  const untold = saga.steps
    .filter(({ name, planned }) => allowances.signalled.has(name) && planned.wait?.limitMs !== undefined)
    .map(({ name }): Schedule => [{ kind: "untold", step: name, action: "act" }]);
  return [
    ...distinct(calls).flatMap((call) => troublesAt(saga, call, allowances).map((one) => [one])),
    ...untold,
  ];
}

/** Schedules with two failures: one going forward, then one at every compensation and fallback that followed. */
export function whileMending(
  saga: AnySaga,
  schedule: Schedule,
  calls: readonly Place[],
  allowances: Allowances,
): readonly Schedule[] {
  if (schedule.some(({ kind, action }) => action === "compensate" || ALIKE.includes(kind))) return [];
  return distinct(calls)
    .filter(({ step, action }) => action === "compensate" || isFallback(saga, step))
    .flatMap((call) => troublesAt(saga, call, allowances).map((second) => [...schedule, second]));
}

function isFallback({ plan }: AnySaga, step: string): boolean {
  return plan.some(({ name, instead }) => name === step && instead !== undefined);
}

/** A step in doubt, then a failure: of the same step at its next attempt, or of a later step. */
export function doubtThenFailure(
  saga: AnySaga,
  calls: readonly Place[],
  allowances: Allowances,
): readonly Schedule[] {
  const acts = distinct(calls).filter(({ action }) => action === "act");
  return acts.flatMap((first, index) =>
    acts.slice(index).flatMap((second) => {
      const later = troublesAt(saga, second, allowances).filter(({ kind }) => FAILURES.includes(kind));
      return DOUBTS.flatMap((kind) => later.map((failure): Schedule => [{ ...first, kind }, failure]));
    }),
  );
}

/** Calls without a timeout or a deadline: if one never answers, its saga waits forever, so that is not tested. */
export function unlimited(saga: AnySaga, calls: readonly Place[]): readonly string[] {
  const isUnlimited = ({ step, action }: Place): boolean =>
    !hasLimit(
      saga,
      saga.steps.findIndex(({ name }) => name === step),
      action === "act",
    );
  return distinct(calls).filter(isUnlimited).map(callName);
}

/** A spread selection of a list. */
export function sample<T>(list: readonly T[], max: number): readonly T[] {
  if (list.length <= max) return list;
  return Array.from({ length: max }, (_, n) => list[Math.floor((n * list.length) / max)] as T);
}

/** A seed may come from another version: without a time limit, a call that never answers would never be aborted. */
export function isPossible(saga: AnySaga, { kind, step, action }: Trouble, allowances: Allowances): boolean {
  if (kind === "untold") return allowances.signalled.has(step);
  return troublesAt(saga, { step, action }, allowances).some((trouble) => trouble.kind === kind);
}

function troublesAt(saga: AnySaga, { step, action }: Place, { errs }: Allowances): readonly Trouble[] {
  const index = saga.steps.findIndex(({ name }) => name === step);
  const isLimited = hasLimit(saga, index, action === "act");
  return (Object.keys(KINDS) as TroubleKind[])
    .filter((kind) => {
      if (kind === "untold") return false;
      if (kind === "err") return action === "act" && errs.has(step);
      return isLimited || KINDS[kind].limited !== true;
    })
    .map((kind) => ({ kind, step, action }));
}

/**
 * True if a call that never answers is aborted at some time. The saga's deadline applies until its pivot begins.
 */
function hasLimit({ steps, plan, settings }: AnySaga, index: number, isAct: boolean): boolean {
  const { timeoutMs, deadlineMs } = steps[index] as StepDefinition;
  if (timeoutMs !== undefined || !isAct) return timeoutMs !== undefined;
  const pivot = plan.findIndex((step) => step.pivot);
  return deadlineMs !== undefined || (settings.deadlineMs !== undefined && (pivot < 0 || index < pivot));
}

function distinct(calls: readonly Place[]): readonly Place[] {
  const seen = new Map(calls.map(({ step, action }) => [`${action} ${step}`, { step, action }]));
  return [...seen.values()];
}
