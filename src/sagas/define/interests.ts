/**
 * Which events a saga will wait for. It follows from the saga's input alone, so it is known when the saga is started and
 * recorded together with it: whatever is published afterwards finds it.
 */
import { AmendsError, errorLabel } from "../../core/errors.ts";
import { alternativeName } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "./definition.ts";
import type { Interest } from "../journal/journal.ts";

const NONE: readonly Interest[] = [];

/** With its quotes. Longer values could not be looked up through an index. */
const VALUE_MAX = 255;

export function interestsOf(
  definition: Pick<AnySaga, "name" | "steps">,
  sagaId: string,
  input: string,
): readonly Interest[] {
  if (definition.steps.every(({ interests }) => interests === undefined)) return NONE;
  const saga = { input: JSON.parse(input) as unknown, sagaId };
  const wanted = definition.steps.flatMap(({ name, interests = [] }) =>
    interests.map((interest) => ({ name, interest })),
  );
  return wanted.map(({ name, interest }, place) => {
    const where = `Saga ${definition.name}, step ${name}`;
    const refuse = (why: string, cause?: unknown): never => {
      throw new AmendsError("BAD_INPUT", `${where}: ${why}`, { step: name }, { cause });
    };
    let given: unknown;
    try {
      given = interest.equals(saga);
    } catch (error) {
      refuse(`\`equals\` threw ${errorLabel(error)} for this input. Return the value to wait for.`, error);
    }
    const value = matchValue(given);
    if (value === undefined)
      return refuse(
        `\`equals\` must return a text of at most ${VALUE_MAX} characters, a number or a boolean.`,
      );
    const step = interest.alternative === undefined ? name : alternativeName(name, interest.alternative);
    return { eventType: interest.event.type, field: interest.field, value, step, place };
  });
}

/** A value as it is compared: as JSON, so that 1 is not "1"; undefined where it can belong to no saga. */
export function matchValue(value: unknown): string | undefined {
  const isScalar =
    typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && isFinite(value));
  if (!isScalar) return undefined;
  const text = JSON.stringify(value);
  return text.length <= VALUE_MAX ? text : undefined;
}
