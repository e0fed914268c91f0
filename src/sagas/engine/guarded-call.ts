/**
 * Calls a step that has a fallback: not at all while its circuit is open. If it fails, the step's own `when` says whether that
 * is one of the failures that the fallback is for.
 */
import type { Verdict } from "../../core/breaker.ts";
import { takesOver, type Outcome } from "../../core/saga/interpreter.ts";
import type { BreakerSettings, FallbackSettings } from "../define/steps/fallback.ts";
import { failureOf, type SagaFailure } from "../view/outcome.ts";
import type { Breakers } from "./breakers.ts";
import { CallContext } from "./call-context.ts";
import type { Called, CallRequest } from "./call.ts";

/** The result of a call, or how its own transaction ended. */
export type Answer = Called | "recorded" | "changed" | "lost" | undefined;

const NOT_CALLED: Called = {
  outcome: {
    kind: "failed",
    transient: false,
    failure: { kind: "open", label: "CircuitOpen" },
    qualifies: true,
  },
  emissions: [],
};

export async function callGuarded(
  breakers: Breakers,
  request: CallRequest,
  call: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const { run, command, step } = request;
  const { qualifies, breaker } = step.fallback as FallbackSettings;
  const name = `${run.definition.name} ${command.step}`;
  // If the fallback could not take over, keeping the call away would keep the saga from going on.
  const isGuarded = breaker !== undefined && takesOver(run.state, command.index, "open") !== undefined;
  const pass = isGuarded ? breakers.admit(name, breaker) : undefined;
  if (isGuarded && !pass) return NOT_CALLED;
  const called = await call();
  const failure = failureIn(called);
  if (breaker && pass) breakers.report(name, breaker, pass, verdictOf(request, called, failure, breaker));
  if (!failure || typeof called !== "object" || called.outcome.kind !== "failed") return called;
  // A deadline is the saga's own: it turns back, as it would without a fallback.
  const outcome: Outcome = {
    ...called.outcome,
    qualifies: failure.kind !== "deadline" && qualifies(failure),
  };
  return { ...called, outcome };
}

function verdictOf(
  { context }: CallRequest,
  called: Answer,
  failure: SagaFailure | undefined,
  { counts }: BreakerSettings,
): Verdict {
  const isCancelled = context !== undefined && CallContext.stopReasonOf(context) === "cancelled";
  if (called === undefined || called === "lost" || isCancelled) return "unknown";
  if (!failure) return "ok";
  return counts(failure) ? "failed" : "answered";
}

/** The failure as if no other try followed. */
function failureIn(called: Answer): SagaFailure | undefined {
  if (typeof called !== "object" || called.outcome.kind !== "failed") return undefined;
  return failureOf(called.outcome.failure);
}
