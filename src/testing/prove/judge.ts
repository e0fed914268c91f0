/**
 * Checks the recorded calls against the outcome of the saga: every possible effect belongs to a completed saga, or
 * was undone afterwards. Pure, and independent of the engine: it uses only the recorded calls.
 */
import type { Direction } from "../../core/identity.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import { callName, KINDS, type Schedule } from "./trouble.ts";

export interface Call {
  readonly step: string;
  readonly action: Direction;
  readonly key: string;
  /** The result of the step's code; undefined if it did not run, or has not ended. */
  answer?: "ok" | "err" | "thrown";
  /** True if the step's code ran. */
  made: boolean;
}

export interface Evidence {
  readonly plan: readonly PlannedStep[];
  readonly calls: readonly Call[];
  readonly schedule: Schedule;
  /** The outcome of the saga; undefined if it did not end. */
  readonly outcome: SagaOutcome | undefined;
  /** Transactional steps that are recorded as completed: only those have effects. */
  readonly committed: ReadonlySet<string>;
  readonly recoveryMax: number;
}

/** The problem in words; undefined if there is none. */
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

/** Steps without a compensation that may have had effects in a failed saga or fallback. */
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

/** The last position in the record at which an act may have happened; -1 if it did not. */
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

/** A saga may stall if a compensation failed, or a step after the pivot failed. */
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
