/** Reads a step that starts another saga, its child, and waits for the child's end. */
import { AmendsError } from "../../../core/errors.ts";
import { refuseUnknown } from "../../../core/options.ts";
import type { AnySaga } from "../definition.ts";
import { checkPlace, quietStep, type Place, type StepDefinition } from "../settings.ts";

/** The child of a step, and how it is started. */
export interface ChildDefinition {
  readonly saga: AnySaga;
  readonly input: (context: unknown) => unknown;
  readonly id: ((context: unknown) => unknown) | undefined;
}

interface Given {
  readonly input?: unknown;
  readonly id?: unknown;
}

export function readChild(place: Place, name: string, child: unknown, options: unknown): StepDefinition {
  const where = `Saga ${place.saga}, step ${checkPlace(place.saga, place.before, name)}`;
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`, { saga: place.saga, step: name });
  };
  const saga = child as AnySaga | undefined;
  if (!Array.isArray(saga?.plan)) return bad("its child must be made by `saga(…)`");
  if (saga.plan.length === 0) return bad(`its child, saga ${saga.name}, has no steps`);
  refuseUnknown(options, ["input", "id"], where);
  const { input, id } = options as Given;
  if (typeof input !== "function")
    return bad("`input` must be a function that returns the input of the child");
  if (id !== undefined && typeof id !== "function") return bad("`id` must be a function");
  const isForward = place.before.some(({ planned }) => planned.pivot);
  if (!isForward && saga.plan.some(({ pivot }) => pivot))
    return bad(
      `its child, saga ${saga.name}, has a pivot and cannot be taken back: put the step behind the pivot, or take the child's pivot out`,
    );
  return {
    ...quietStep(place, name, { child: saga.name, undo: !isForward }),
    child: {
      saga,
      input: input as ChildDefinition["input"],
      id: id as ChildDefinition["id"],
    },
  };
}
