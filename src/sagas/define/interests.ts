/**
 * Which events a saga will wait for. It follows from the saga's input alone, so it is known when the saga is started and
 * recorded together with it: whatever is published afterwards finds it.
 */
import { AmendsError, errorLabel } from "../../core/errors.ts";
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
  if (definition.steps.every(({ interest }) => interest === undefined)) return NONE;
  const saga = { input: JSON.parse(input) as unknown, sagaId };
  return definition.steps.flatMap(({ name, interest }, place) => {
    if (!interest) return [];
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
    return [{ eventType: interest.event.type, field: interest.field, value, step: name, place }];
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
