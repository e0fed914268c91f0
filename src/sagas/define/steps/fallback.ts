/** Reads a step together with its fallback, which stands right behind it, and refuses what does not make sense. */
import type { BreakerPolicy } from "../../../core/breaker.ts";
import { positiveMs } from "../../../core/duration.ts";
import { AmendsError } from "../../../core/errors.ts";
import { refuseUnknown } from "../../../core/options.ts";
import type { BreakerOptions, FailureFilter, FallbackTerms } from "../options/fallback.ts";
import type { SagaFailure } from "../../view/outcome.ts";
import { whole, type SagaSettings } from "../saga-options.ts";
import { checkPlace, readStep, type StepDefinition } from "../settings.ts";

export interface BreakerSettings extends BreakerPolicy {
  /** Does this failure speak against what was called? */
  readonly counts: (failure: SagaFailure) => boolean;
}

/** What a step knows of the fallback behind it. */
export interface FallbackSettings {
  readonly qualifies: (failure: SagaFailure) => boolean;
  readonly breaker: BreakerSettings | undefined;
}

const BREAKER_OPTIONS = ["threshold", "reset", "exclude"];
const DEFAULT_THRESHOLD = 5;
const DEFAULT_RESET = "30s";

/** One step, or two where it has a fallback. */
export function readStepAndFallback(
  saga: string,
  settings: SagaSettings,
  before: readonly StepDefinition[],
  stepName: string,
  options: unknown,
  pivot: boolean,
): readonly StepDefinition[] {
  const { fallback: given, ...own } = (options ?? {}) as { readonly fallback?: unknown };
  if (given === undefined) return [readStep(saga, settings, before, stepName, options, pivot)];
  const step = readStep(saga, settings, before, stepName, own, pivot);
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `Saga ${saga}, step ${stepName}: ${why}.`, {
      saga,
      step: stepName,
    });
  };
  if (typeof given !== "object" || given === null)
    return bad("its `fallback` must be an object with at least `name` and `act`");
  const { name, when, breaker, ...calls } = given as FallbackTerms<string>;
  if ("fallback" in calls) return bad("a fallback has no fallback of its own");
  checkPlace(saga, [...before, step], name);
  const other = readStep(saga, settings, before, name, calls, pivot);
  const where = `Saga ${saga}, step ${stepName}`;
  const qualifies = readFilter(when, isTrouble, `${where}: \`when\` of its fallback`);
  return [
    {
      ...step,
      planned: { ...step.planned, fallback: name },
      fallback: { qualifies, breaker: breaker && readBreaker(breaker, qualifies, `${where}: breaker`) },
    },
    { ...other, planned: { ...other.planned, instead: stepName } },
  ];
}

/** An `err` is what the business answered: it is no trouble, and asking elsewhere is not for us to decide. */
function isTrouble({ kind }: SagaFailure): boolean {
  return kind !== "err";
}

/** A failure that does not qualify says nothing against what was called, either. */
function readBreaker(
  given: BreakerOptions,
  qualifies: FallbackSettings["qualifies"],
  field: string,
): BreakerSettings {
  refuseUnknown(given, BREAKER_OPTIONS, field);
  const isExcluded = readFilter(given.exclude, () => false, `${field}.exclude`);
  return {
    threshold: whole(given.threshold ?? DEFAULT_THRESHOLD, 1, `${field}.threshold`),
    resetMs: positiveMs(given.reset ?? DEFAULT_RESET, `${field}.reset`),
    counts: (failure) => qualifies(failure) && !isExcluded(failure),
  };
}

/** A question that throws is answered with no: the failure it was asked of is what counts. */
function readFilter(
  given: FailureFilter | undefined,
  usual: (failure: SagaFailure) => boolean,
  field: string,
): (failure: SagaFailure) => boolean {
  if (given === undefined) return usual;
  if (typeof given === "function") {
    // A promise is no answer: `when` is synchronous.
    const ask: (failure: SagaFailure) => unknown = given;
    return (failure) => {
      try {
        return ask(failure) === true;
      } catch {
        return false;
      }
    };
  }
  if (!Array.isArray(given) || !given.every((label) => typeof label === "string")) {
    throw new AmendsError("BAD_DEFINITION", `${field} must be a list of labels, or a function.`);
  }
  const labels = new Set(given);
  return ({ label }) => labels.has(label);
}
