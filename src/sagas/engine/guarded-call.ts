/**
 * Calls a step that has a fallback: not at all while its circuit is open. Where it fails, it is asked whether that is one of
 * the failures that the fallback is for.
 */
import type { Verdict } from "../../core/breaker.ts";
import { takesOver, type Outcome } from "../../core/saga/interpreter.ts";
import type { DriveTools } from "./checkpoint.ts";
import { callStep, type CallCommand, type Called } from "./call.ts";
import type { BreakerSettings, FallbackSettings } from "../define/fallback-steps.ts";
import { failureOf, type SagaFailure } from "../view/outcome.ts";
import type { Run } from "./run.ts";
import type { StepDefinition } from "../define/settings.ts";
import { callStepInTransaction } from "./transactional.ts";

type Answer = "again" | "lost" | Called | undefined;

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
  tools: DriveTools,
  run: Run,
  command: CallCommand,
  step: StepDefinition,
): Promise<Answer> {
  const { qualifies, breaker } = step.fallback as FallbackSettings;
  const name = `${run.definition.name} ${command.step}`;
  // Where the fallback could not take over, keeping the call away would keep the saga from going on.
  const isGuarded = breaker !== undefined && takesOver(run.state, command.index, "open") !== undefined;
  const pass = isGuarded ? tools.breakers.admit(name, breaker) : undefined;
  if (isGuarded && !pass) return NOT_CALLED;
  const called = await (step.transaction
    ? callStepInTransaction(tools, run, command)
    : callStep(tools, run, command, undefined));
  const failure = failureIn(called);
  if (breaker && pass) tools.breakers.report(name, breaker, pass, verdictOf(run, called, failure, breaker));
  if (!failure || typeof called !== "object" || called.outcome.kind !== "failed") return called;
  // A deadline is the saga's own affair: it turns back, as it would without a fallback.
  const outcome: Outcome = {
    ...called.outcome,
    qualifies: failure.kind !== "deadline" && qualifies(failure),
  };
  return { ...called, outcome };
}

function verdictOf(
  run: Run,
  called: Answer,
  failure: SagaFailure | undefined,
  { counts }: BreakerSettings,
): Verdict {
  if (called === undefined || called === "lost" || run.stopReason === "cancelled") return "unknown";
  if (!failure) return "ok";
  return counts(failure) ? "failed" : "answered";
}

/** As it would be if no other try followed. */
function failureIn(called: Answer): SagaFailure | undefined {
  if (typeof called !== "object" || called.outcome.kind !== "failed") return undefined;
  return failureOf(called.outcome.failure);
}
