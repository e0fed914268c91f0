/**
 * A step with a fallback stands in the plan right before the fallback. One of the two counts: the step if it is done, the
 * fallback once it was chosen. The choice is a line of the log, written before the fallback begins, so that the next worker
 * goes on with the same one.
 */
import type { SagaState } from "../state.ts";

type Steps = Pick<SagaState, "plan" | "steps">;

/** A fallback that was not chosen: the step before it is under way, or succeeded. */
export function isSpared({ plan, steps }: Steps, index: number): boolean {
  return plan[index]?.instead !== undefined && steps[index]?.act === "none";
}

/** It failed, and its fallback has its place. */
export function isPassedOver({ plan, steps }: Steps, index: number): boolean {
  return plan[index]?.fallback !== undefined && steps[index + 1]?.act !== "none";
}
