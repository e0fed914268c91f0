/** Every shape of saga that a definition can have, up to a number of steps. */
import type { Plan, PlannedStep } from "../../../../src/core/saga/plan.ts";

type Shape = Omit<PlannedStep, "name">;

const shape = (signs: string): Shape => ({
  undo: signs.includes("~"),
  pivot: signs.includes("!"),
  undoOnErr: signs.includes("?"),
  atomic: signs.includes("="),
});

const BEFORE = ["", "~", "~?", "=", "~=", "~?="].map(shape);
const PIVOT = ["!", "~!", "!=", "~!="].map(shape);
/** After the pivot there is nothing to undo. */
const AFTER = ["", "="].map(shape);

export function plansOf(length: number): Plan[] {
  return shapesOf(length, false).map((shapes) =>
    shapes.map((one, index) => ({ name: "abcd"[index] as string, ...one })),
  );
}

function shapesOf(length: number, passed: boolean): Shape[][] {
  if (length === 0) return [[]];
  const grow = (first: readonly Shape[], then: boolean): Shape[][] =>
    first.flatMap((one) => shapesOf(length - 1, then).map((rest) => [one, ...rest]));
  return passed ? grow(AFTER, true) : [...grow(BEFORE, false), ...grow(PIVOT, true)];
}
