/** Validates names and ids on input, so that they can be stored, compared and shown everywhere. */
import { AmendsError } from "./errors.ts";

/** With a step's name and a direction, an id fits the 255 characters of an idempotency key in payment APIs. */
export const SAGA_ID_MAX = 180;
export const NAME_MAX = 64;
/** Names of outside systems. */
export const SYSTEM_NAME_MAX = 255;

const NAME = /^[A-Za-z][A-Za-z0-9_.-]*$/;

/** The name of a saga, a step or a handler. Names that begin with `$` belong to Amends itself. */
export function checkName(name: unknown, field: string, max: number = NAME_MAX): string {
  if (!isName(name, max)) {
    throw new AmendsError(
      "BAD_DEFINITION",
      `${field} must be 1 to ${max} letters, digits, dots, dashes or underscores, beginning with a letter.`,
      { field },
    );
  }
  return name;
}

export function isName(name: unknown, max: number = NAME_MAX): name is string {
  return typeof name === "string" && name.length <= max && NAME.test(name);
}

/** An id that a caller chose. */
export function checkId(id: unknown, field: string, max: number = SAGA_ID_MAX): string {
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_ID", `${field} ${why}.`, { field });
  };
  if (typeof id !== "string") return refuse("must be a text");
  if (id.length === 0) return refuse("must not be empty");
  if (id.length > max) return refuse(`must have at most ${max} characters (this one has ${id.length})`);
  if (id.includes("\0")) return refuse("must not contain a NUL character");
  if (!isWellFormed(id)) return refuse("must be well-formed Unicode (it contains half of a surrogate pair)");
  return id;
}

export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** The act of a step, or its compensation. */
export type Direction = "act" | "compensate";

/**
 * The idempotency key: stable over retries and restarts; distinct per saga, step and direction, as neither of the
 * last two contains a colon.
 */
export function idempotencyKey(sagaId: string, step: string, direction: Direction): string {
  return `${sagaId}:${step}:${direction === "act" ? "act" : "undo"}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function checkUuid(id: unknown, field: string): string {
  const text = checkId(id, field, 36).toLowerCase();
  if (!UUID.test(text)) throw new AmendsError("BAD_ID", `${field} must be a UUID.`, { field });
  return text;
}
