/**
 * Selects the schedules to run. First every failure at every observed call; then, if that led to compensation, to a
 * fallback or to calls that were not seen before, every failure at each of those; then every call in doubt before every
 * failure. Of many items or rounds the first, the second and the last one stand for all. Pure: the same runs give the same list.
 */
import { AmendsError } from "../../core/errors.ts";
import { isPart, stepOf } from "../../core/saga/part-name.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { isPatient, isTold, mayErr, siteOf, sitesOf, type Site } from "./tree.ts";
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
  const sites = new Map(sitesOf(saga).map(({ name, step }) => [name, step.planned]));
  const isFit = (name: string, fits: typeof mayErr): boolean => {
    const planned = sites.get(name);
    return planned !== undefined && fits(planned);
  };
  const wrong =
    [...errs].find((name) => !isFit(name, mayErr)) ?? [...signalled].find((name) => !isFit(name, isTold));
  if (wrong === undefined) return;
  throw new AmendsError(
    "BAD_OPTION",
    `prove: saga ${saga.name} has no step ${wrong} for that. \`errs\` names steps that act, \`tell\` steps that wait. A step of a child is \`"ship>label"\`.`,
  );
}

/** A completed saga with a pivot is never taken back. */
export function checkReversible({ name, plan }: AnySaga): void {
  const pivot = plan.find((step) => step.pivot);
  if (!pivot) return;
  throw new AmendsError(
    "BAD_OPTION",
    `prove: saga ${name} has a pivot, ${pivot.name}, so a completed one cannot be taken back. Leave out \`reversed\`.`,
  );
}

/** The failures that leave a call in doubt, and those that fail it afterwards. */
const DOUBTS: readonly TroubleKind[] = ["crash-answered", "lost"];
const FAILURES: readonly TroubleKind[] = ["terminal", "err"];

/** These leave the same state as `terminal` and `lost-always`, so one of each is enough for follow-up schedules. */
const ALIKE: readonly TroubleKind[] = ["fail", "hang", "hang-done"];

/** These concern what is sent to a step, not a call of it. */
const UNSENT: readonly TroubleKind[] = ["untold", "told-late"];

/** Schedules with one failure. */
export function singles(saga: AnySaga, calls: readonly Place[], allowances: Allowances): readonly Schedule[] {
  const unsent = sitesOf(saga).flatMap(({ name }) =>
    UNSENT.map((kind): Trouble => ({ kind, step: name, action: "act" })).filter((trouble) =>
      isPossible(saga, trouble, allowances),
    ),
  );
  return [
    ...sampled(calls).flatMap((call) => troublesAt(saga, call, allowances).map((one) => [one])),
    ...unsent.map((one): Schedule => [one]),
  ];
}

/** What a schedule led to. */
export interface Run {
  readonly calls: readonly Place[];
  readonly hasCompleted: boolean;
}

/**
 * Schedules with two failures: one going forward, then one at every compensation and fallback that followed, and at every call
 * that only followed because of the first. `plain`: the calls of a run without failures.
 */
export function whileMending(
  saga: AnySaga,
  schedule: Schedule,
  { calls, hasCompleted }: Run,
  plain: readonly Place[],
  allowances: Allowances,
): readonly Schedule[] {
  if (schedule.some(({ kind, action }) => action === "compensate" || ALIKE.includes(kind))) return [];
  const known = new Set(plain.map(callName));
  return sampled(calls)
    .filter((call) => {
      if (isFallback(saga, call.step) || !known.has(callName(call))) return true;
      // Where nothing had to be undone, a saga that is taken back is so in every schedule alike.
      return call.action === "compensate" && !hasCompleted;
    })
    .flatMap((call) => troublesAt(saga, call, allowances).map((second) => [...schedule, second]));
}

function isFallback(saga: AnySaga, call: string): boolean {
  return siteOf(saga, call)?.step.planned.instead !== undefined;
}

/** A step in doubt, then a failure: of the same step at its next attempt, or of a later step. */
export function doubtThenFailure(
  saga: AnySaga,
  calls: readonly Place[],
  allowances: Allowances,
): readonly Schedule[] {
  const acts = sampled(calls).filter(({ action }) => action === "act");
  return acts.flatMap((first, index) =>
    acts.slice(index).flatMap((second) => {
      const later = troublesAt(saga, second, allowances).filter(({ kind }) => FAILURES.includes(kind));
      return DOUBTS.flatMap((kind) => later.map((failure): Schedule => [{ ...first, kind }, failure]));
    }),
  );
}

/** Calls without a timeout or a deadline: if one never answers, its saga waits forever, so that is not tested. */
export function unlimited(saga: AnySaga, calls: readonly Place[]): readonly string[] {
  const isUnlimited = ({ step, action }: Place): boolean => {
    const site = siteOf(saga, step);
    return site !== undefined && !site.step.child && !hasLimit(site, action === "act");
  };
  const ofSteps = calls.map(({ step, action }) => ({ step: stepOf(step), action }));
  return distinct(ofSteps).filter(isUnlimited).map(callName);
}

/** A spread selection of a list. */
export function sample<T>(list: readonly T[], max: number): readonly T[] {
  if (list.length <= max) return list;
  return Array.from({ length: max }, (_, n) => list[Math.floor((n * list.length) / max)] as T);
}

/** A seed may come from another version: without a time limit, a call that never answers would never be aborted. */
export function isPossible(saga: AnySaga, { kind, step, action }: Trouble, allowances: Allowances): boolean {
  if (!UNSENT.includes(kind))
    return troublesAt(saga, { step, action }, allowances).some((trouble) => trouble.kind === kind);
  const planned = allowances.signalled.has(step) ? siteOf(saga, step)?.step.planned : undefined;
  return planned !== undefined && (kind === "untold" ? isPatient(planned) : planned.repeat !== undefined);
}

function troublesAt(saga: AnySaga, { step, action }: Place, { errs }: Allowances): readonly Trouble[] {
  const site = siteOf(saga, step);
  if (!site) return [];
  const { planned, child } = site.step;
  // The list of a step is computed before the first item, and answers nothing else.
  const isErr = action === "act" && errs.has(site.name) && (!planned.each || isPart(step));
  // Starting a child and taking it back are calls of Amends itself.
  const isLimited = !child && hasLimit(site, action === "act");
  return (Object.keys(KINDS) as TroubleKind[])
    .filter((kind) => {
      if (UNSENT.includes(kind)) return false;
      if (kind === "err") return isErr;
      return isLimited || KINDS[kind].limited !== true;
    })
    .map((kind) => ({ kind, step, action }));
}

/**
 * True if a call that never answers is aborted at some time. The saga's deadline applies until its pivot, or what follows its end,
 * begins.
 */
function hasLimit({ step, index, saga }: Site, isAct: boolean): boolean {
  const { timeoutMs, deadlineMs, planned } = step;
  if (timeoutMs !== undefined || !isAct) return timeoutMs !== undefined;
  const pivot = saga.plan.findIndex((one) => one.pivot);
  const isBound = (pivot < 0 || index < pivot) && planned.end === undefined;
  return deadlineMs !== undefined || (saga.settings.deadlineMs !== undefined && isBound);
}

/** Each call once; of the items or rounds of a step the first, the second and the last one. */
function sampled(calls: readonly Place[]): readonly Place[] {
  const all = distinct(calls);
  const parts = new Map<string, Place[]>();
  for (const call of all.filter(({ step }) => isPart(step))) {
    const of = callName({ step: stepOf(call.step), action: call.action });
    parts.set(of, [...(parts.get(of) ?? []), call]);
  }
  const chosen = new Set([...parts.values()].flatMap((some) => [some[0], some[1], some.at(-1)]));
  return all.filter((call) => !isPart(call.step) || chosen.has(call));
}

function distinct(calls: readonly Place[]): readonly Place[] {
  const seen = new Map(calls.map(({ step, action }) => [callName({ step, action }), { step, action }]));
  return [...seen.values()];
}
