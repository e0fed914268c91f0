/**
 * Filters match an event's attributes, which the publisher passes beside the data: delivery never reads a payload.
 * A filter lists the accepted values per attribute; an event without one of the attributes does not match.
 */
import { AmendsError } from "../errors.ts";
import { isWellFormed } from "../identity.ts";
import { patternsFor } from "./event-type.ts";

export type Attributes = Readonly<Record<string, string>>;
/** The accepted values per attribute of an event. */
export type Filter = Readonly<Record<string, readonly string[]>>;

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const VALUE_MAX = 255;
const COUNT_MAX = 32;

export function checkAttributes(given: unknown): Attributes {
  return Object.fromEntries(
    entriesOf(given, "attributes").map(([name, value]) => [name, checkValue(value, "attributes")]),
  );
}

/** One value is a list of one. */
export function checkFilter(given: unknown): Filter {
  return Object.fromEntries(
    entriesOf(given, "filter").map(([name, value]) => {
      const values: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (values.length === 0 || values.length > COUNT_MAX) {
        throw refusal("filter", `an attribute has 1 to ${COUNT_MAX} values to choose from`);
      }
      return [name, [...new Set(values.map((one) => checkValue(one, "filter")))]];
    }),
  );
}

/** An attribute and its value as one text: names hold no equals sign. */
export function pairOf(name: string, value: string): string {
  return `${name}=${value}`;
}

export function passes(filter: Filter, attributes: Attributes): boolean {
  return Object.entries(filter).every(([name, values]) => {
    const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    return value !== undefined && values.includes(value);
  });
}

/** Decides whether a filter matches an event: the same rule as the routing query, for one event. */
export function wants(
  { events, filter }: { readonly events: readonly string[]; readonly filter: Filter },
  event: { readonly type: string; readonly attributes: Attributes },
): boolean {
  const patterns = patternsFor(event.type);
  return events.some((pattern) => patterns.includes(pattern)) && passes(filter, event.attributes);
}

function entriesOf(given: unknown, field: string): readonly (readonly [string, unknown])[] {
  if (given === undefined) return [];
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw refusal(field, "they are an object of texts");
  }
  const entries = Object.entries(given);
  if (entries.length > COUNT_MAX) throw refusal(field, `there are at most ${COUNT_MAX}`);
  if (entries.some(([name]) => !NAME.test(name))) {
    throw refusal(field, "a name is up to 64 letters, digits, dots, dashes and underscores, a letter first");
  }
  return entries;
}

function checkValue(value: unknown, field: string): string {
  const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  if (typeof text !== "string" || text.length > VALUE_MAX || text.includes("\0") || !isWellFormed(text)) {
    throw refusal(field, `a value is a well-formed text of at most ${VALUE_MAX} characters`);
  }
  return text;
}

function refusal(field: string, why: string): AmendsError {
  return new AmendsError("BAD_INPUT", `The ${field} do not fit: ${why}.`, { field });
}
