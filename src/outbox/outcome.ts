/** What a call that leaves through the outbox came to, from what it threw. */
import { classify, errorLabel } from "../core/errors.ts";
import type { Decision, Outcome } from "../core/outbox/decide.ts";
import { tellThrow } from "../runtime/throws.ts";

export function failureOf(thrown: unknown): Outcome {
  const label = errorLabel(thrown);
  return { kind: classify(thrown) === "permanent" ? "refused" : "trouble", label, thrown };
}

/** For a developer who looks on: what the call threw, and when it is made again. */
export function tellThrown(
  part: "call" | "resolver",
  name: string,
  { entryId, attempts }: { readonly entryId: string; readonly attempts: number },
  outcome: Outcome,
  decision: Decision,
): void {
  if (!("thrown" in outcome)) return;
  const waitMs = decision.event === "fail" ? decision.waitMs : undefined;
  tellThrow(() => ({ part, name, id: entryId, attempt: attempts, error: outcome.thrown, waitMs }));
}

/** The label of an outcome that is a failure. */
export function labelOf(outcome: Outcome | undefined): string | undefined {
  return outcome && "label" in outcome ? outcome.label : undefined;
}
