/**
 * Event types are names with dots (`order.placed`), and a subscription names the ones that it wants: exactly, all
 * below a prefix (`order.*`, which takes `order.item.added` too), or all (`*`). A type matches only a few patterns,
 * so routing looks these up instead of testing every subscription.
 */
import { AmendsError } from "../errors.ts";

const TYPE = /^[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*$/;
export const TYPE_MAX = 128;

/** Amends' own events: applications cannot publish them, and `*` does not match them. */
export const OWN_PREFIX = "amends.";

export function checkEventType(type: unknown): string {
  if (typeof type !== "string" || type.length > TYPE_MAX || !TYPE.test(type)) {
    throw new AmendsError(
      "BAD_INPUT",
      `The type of an event is up to ${TYPE_MAX} letters, digits, dashes and underscores in parts with dots between, such as order.placed.`,
      { field: "type" },
    );
  }
  if (type.startsWith(OWN_PREFIX)) {
    throw new AmendsError("BAD_INPUT", "Event types that begin with `amends.` are Amends' own.", {
      field: "type",
    });
  }
  return type;
}

export function checkPattern(pattern: unknown): string {
  const stem = typeof pattern === "string" && pattern.endsWith(".*") ? pattern.slice(0, -2) : pattern;
  const fits = typeof stem === "string" && stem.length <= TYPE_MAX && (pattern === "*" || TYPE.test(stem));
  if (fits) return pattern as string;
  throw new AmendsError(
    "BAD_OPTION",
    "A subscription's events are types such as order.placed, prefixes such as order.*, or * for all.",
    { field: "events" },
  );
}

/** Every pattern that matches this type. */
export function patternsFor(type: string): readonly string[] {
  const parts = type.split(".");
  const prefixes = parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join(".")}.*`);
  return [type, ...prefixes, ...(type.startsWith(OWN_PREFIX) ? [] : ["*"])];
}
