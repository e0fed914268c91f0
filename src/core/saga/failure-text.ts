/** The failure of a saga as a short text: labels only, so that lists need not read logs. */
import type { SagaState } from "./state.ts";

/** Null where nothing has failed. */
export function failureText(state: SagaState): string | null {
  const { failure, stall } = state;
  if (!failure && !stall) return null;
  return JSON.stringify({
    ...(failure && { step: failure.step, kind: failure.kind, label: failure.label }),
    ...(stall && { stall: { kind: stall.kind, step: stall.step, label: stall.label } }),
  });
}
