/** The failure of a saga as a short text: labels only, so that lists need not read logs. */
import { failingStep, type SagaState } from "./state.ts";

/** Null where nothing has failed. */
export function failureText(state: SagaState): string | null {
  const { failure, stall } = state;
  if (!failure && !stall) return null;
  return JSON.stringify({
    ...(failure && { step: failure.step, kind: failure.kind, label: failure.label }),
    ...(stall && { stall: { kind: stall.kind, step: stall.step, label: stall.label } }),
  });
}

/**
 * The label by which lists find the saga: of what it waits for a person for, else of why it turned back or keeps failing. Null where
 * nothing is wrong with it any more.
 */
export function failureLabel(state: SagaState): string | null {
  const { status, failure, stall } = state;
  if (status === "COMPLETED") return null;
  const label = stall ? (stall.label ?? stall.kind) : (failure?.label ?? failingStep(state)?.failure.label);
  return label ?? null;
}
