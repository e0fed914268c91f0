/** The outcome of an outbox call, from the thrown value. */
import { classify, errorLabel, errorMessage, labelWithMessage } from "../core/errors.ts";
import type { Decision, Outcome } from "../core/outbox/decide.ts";
import type { PartContext } from "../runtime/part.ts";
import { reportFailedTry } from "../runtime/failed-tries.ts";

export function failureOf(thrown: unknown, errorCodes?: ReadonlySet<string>): Outcome {
  const label = errorLabel(thrown, errorCodes);
  return { kind: classify(thrown) === "permanent" ? "refused" : "trouble", label, thrown };
}

/** Reports a failed attempt with the wait before the next one. */
export function reportFailure(
  warn: PartContext["warn"],
  part: "call" | "resolver",
  name: string,
  { entryId, attempts }: { readonly entryId: string; readonly attempts: number },
  outcome: Outcome,
  decision: Decision,
): void {
  if (!("label" in outcome)) return;
  const waitMs = decision.event === "fail" ? decision.waitMs : undefined;
  const thrown = "thrown" in outcome ? { error: outcome.thrown } : {};
  const { label } = outcome;
  reportFailedTry(warn, { part, name, id: entryId, attempt: attempts, label, waitMs, ...thrown });
}

/** The decision as it is stored: with the error message beside the label, if `outcome` is given. */
export function withMessage(decision: Decision, outcome: Outcome | undefined): Decision {
  if (!outcome || !("thrown" in outcome) || !("error" in decision)) return decision;
  return { ...decision, error: labelWithMessage(decision.error, errorMessage(outcome.thrown)) };
}

/** The label of a failed outcome. */
export function labelOf(outcome: Outcome | undefined): string | undefined {
  return outcome && "label" in outcome ? outcome.label : undefined;
}
