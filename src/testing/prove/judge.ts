/**
 * Holds the record of calls against how the saga ended: whatever may have happened is part of a saga that completed, or
 * was undone after it happened. Pure, and it does not ask the engine: it knows only which calls were made.
 */
import type { Direction } from "../../core/identity.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import { callName, KINDS, type Schedule } from "./trouble.ts";

export interface Call {
  readonly step: string;
  readonly action: Direction;
  readonly key: string;
  /** How the step's own code ended; undefined where it was not run, or has not ended. */
  answer?: "ok" | "err" | "thrown";
  /** The step's own code was run. */
  made: boolean;
}

export interface Evidence {
  readonly plan: readonly PlannedStep[];
  readonly calls: readonly Call[];
  readonly schedule: Schedule;
  /** How it ended; undefined where it did not. */
  readonly outcome: SagaOutcome | undefined;
  /** Transactional steps that are on record as done: only those have happened. */
  readonly committed: ReadonlySet<string>;
  readonly recoveryMax: number;
}

/** What is wrong, in words; undefined where nothing is. */
export function judge(evidence: Evidence): string | undefined {
  const { outcome } = evidence;
  if (!outcome) return "it has neither ended nor stalled";
  const key = otherKey(evidence.calls);
  if (key) return key;
  switch (outcome.status) {
    case "COMPLETED":
      return evidence.plan.map((step) => halfDone(evidence, step)).find((problem) => problem !== undefined);
    case "FAILED":
      return evidence.plan.map((step) => notUndone(evidence, step)).find((problem) => problem !== undefined);
    default:
      return isExplained(evidence, outcome)
        ? undefined
        : `it stalled, and nothing in this schedule explains it: ${outcome.reason}`;
  }
}

/** The steps that may have happened in a saga that failed, or whose fallback did, and have nothing to take them back. */
export function withoutUndo(evidence: Evidence): readonly string[] {
  const { plan, outcome } = evidence;
  const isOutOfPlace = (step: PlannedStep): boolean =>
    outcome?.status === "FAILED" || (outcome?.status === "COMPLETED" && isPassedOver(evidence, step));
  return plan
    .filter((step) => !step.undo && isOutOfPlace(step) && lastHappened(evidence, step) >= 0)
    .map((step) => step.name);
}

function isPassedOver({ calls }: Pick<Evidence, "calls">, { fallback }: PlannedStep): boolean {
  return fallback !== undefined && calls.some(({ step }) => step === fallback);
}

function otherKey(calls: readonly Call[]): string | undefined {
  const keys = new Map<string, string>();
  for (const call of calls) {
    const name = callName(call);
    const key = keys.get(name) ?? call.key;
    if (key !== call.key) return `${name} was called under two keys: ${key} and ${call.key}`;
    keys.set(name, key);
  }
  return undefined;
}

function halfDone(evidence: Evidence, planned: PlannedStep): string | undefined {
  const { calls } = evidence;
  const { name, wait, instead } = planned;
  if (isPassedOver(evidence, planned)) return notUndone(evidence, planned);
  if (wait || (instead !== undefined && !calls.some(({ step }) => step === name))) return undefined;
  const own = calls.filter(({ step, made }) => step === name && made);
  if (own.some(({ action }) => action === "compensate")) return `it completed, but ${name} was undone`;
  return own.some(({ answer }) => answer === "ok") ? undefined : `it completed, but ${name} never succeeded`;
}

function notUndone(evidence: Evidence, step: PlannedStep): string | undefined {
  const happened = lastHappened(evidence, step);
  if (happened < 0 || !step.undo) return undefined;
  const undone = evidence.calls.findLastIndex(
    ({ step: name, action, answer }) => name === step.name && action === "compensate" && answer === "ok",
  );
  return undone > happened ? undefined : `${step.name} may have happened, and was not undone after that`;
}

/** Where in the record an act last may have happened; -1 where it has not. */
function lastHappened(
  { calls, committed }: Pick<Evidence, "calls" | "committed">,
  { name, atomic, undoOnErr }: PlannedStep,
): number {
  if (atomic && !committed.has(name)) return -1;
  return calls.findLastIndex(
    ({ step, action, made, answer }) =>
      step === name && action === "act" && made && (answer !== "err" || undoOnErr),
  );
}

/** A saga may wait for a person where an undo could not be done, or a step that there is no way back from failed. */
function isExplained(
  { schedule, recoveryMax }: Evidence,
  outcome: Extract<SagaOutcome, { status: "STALLED" }>,
): boolean {
  const isStopped = (step: string | undefined, action: Direction): boolean =>
    schedule.some(
      (trouble) => trouble.step === step && trouble.action === action && KINDS[trouble.kind].lasting === true,
    );
  if (outcome.undoErrors.length > 0)
    return outcome.undoErrors.every(({ step }) => isStopped(step, "compensate"));
  const crashes = schedule.filter(({ kind }) => KINDS[kind].crash === true).length;
  return isStopped(outcome.step, "act") || crashes > recoveryMax;
}
