/** The signed-in operator and the roles. */
import { AmendsError } from "../../core/errors.ts";
import type { Role } from "../contract.ts";

/** A person who uses the console. */
export interface Operator {
  /** The name that goes on record with every action, 1 to 255 characters. */
  readonly name: string;
  /** What the operator may do, at least one role. `read` is always included. */
  readonly roles: readonly Role[];
}

export const ROLES: readonly Role[] = ["read", "operate", "reveal"];

const NAME_MAX = 255;

/** Validates the operator that an option or the user's hook returned. Every role includes `read`. */
export function checkOperator(given: Partial<Operator>, where: string): Operator {
  const { name, roles } = given;
  if (typeof name !== "string" || name.trim() === "" || name.length > NAME_MAX || name.includes("\0")) {
    throw new AmendsError("BAD_OPTION", `${where}: \`name\` must be a text of 1 to ${NAME_MAX} characters.`);
  }
  if (!Array.isArray(roles) || roles.length === 0 || roles.some((role) => !ROLES.includes(role as Role))) {
    throw new AmendsError("BAD_OPTION", `${where}: \`roles\` must be some of ${ROLES.join(", ")}.`);
  }
  const held = roles as readonly Role[];
  return { name, roles: ROLES.filter((role) => role === "read" || held.includes(role)) };
}
