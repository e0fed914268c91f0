/** How a saga is started: from when on, how urgently, and under which attributes. */
import { AmendsError } from "../errors.ts";
import { readAttributes, type Attributes } from "./attributes.ts";
import { readGate, type Gate, type GivenGate } from "./gate.ts";

/** The highest priority. Priority n counts like n minutes of waiting. */
export const PRIORITY_MAX = 10;

export interface StartControls {
  /** Undefined: due at once. */
  readonly gate: Gate | undefined;
  readonly priority: number;
  /** Undefined: none. */
  readonly attributes: Attributes | undefined;
}

export interface GivenControls extends GivenGate {
  readonly priority?: number | undefined;
  readonly attributes?: unknown;
}

/** The names of these options. */
export const CONTROLS: readonly string[] = ["runAt", "delay", "priority", "attributes"];

export function readControls(
  given: GivenControls,
  declared: readonly string[] | undefined,
  where: string,
): StartControls {
  const { priority = 0 } = given;
  if (!Number.isInteger(priority) || priority < 0 || priority > PRIORITY_MAX) {
    throw new AmendsError(
      "BAD_OPTION",
      `${where}: \`priority\` must be a whole number from 0 to ${PRIORITY_MAX}. Nothing was written.`,
      { field: "priority" },
    );
  }
  return {
    gate: readGate(given, where),
    priority,
    attributes: readAttributes(given.attributes, declared, where),
  };
}
