/**
 * Pagination cursors: the end of a page as a text that the next request passes back. A cursor is a tuple of
 * scalars, usually the instant and the id of the last row. The instant keeps the database's fraction of a
 * millisecond: a Date would truncate it, and the next page would repeat rows of this one.
 */
import { AmendsError } from "./errors.ts";

/** One page of a list. */
export interface Page<Item> {
  /** The items of this page. */
  readonly items: readonly Item[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** Checks the shape of one element of a cursor. */
export type Shape<Value> = (value: unknown) => value is Value;

export interface Cursor<Place extends readonly unknown[]> {
  encode(...place: Place): string;
  /** Refuses a text that `encode` did not return for this shape. Undefined for the first page. */
  decode(after: string | undefined): Place | undefined;
}

/** Enough for the longest id of a caller. */
const LENGTH_MAX = 2_000;

export function cursor<Place extends readonly unknown[]>(
  ...shapes: { readonly [Index in keyof Place]: Shape<Place[Index]> }
): Cursor<Place> {
  return {
    encode: (...place) => toBase64Url(JSON.stringify(place)),
    decode: (after) => {
      if (after === undefined) return undefined;
      const place = parsed(after);
      const fits = place?.length === shapes.length && shapes.every((fitting, at) => fitting(place[at]));
      if (!fits) throw refused();
      return place as unknown as Place;
    },
  };
}

function refused(): AmendsError {
  return new AmendsError("BAD_OPTION", "`after` must be the `next` of the previous page.", {
    field: "after",
  });
}

function parsed(after: unknown): readonly unknown[] | undefined {
  if (typeof after !== "string" || after.length > LENGTH_MAX || !/^[\w-]+$/.test(after)) return undefined;
  try {
    const place: unknown = JSON.parse(atob(after.replaceAll("-", "+").replaceAll("_", "/")));
    return Array.isArray(place) ? place : undefined;
  } catch {
    return undefined;
  }
}

/** Only ASCII goes into base64: JSON can write every other character as an escape. */
function toBase64Url(json: string): string {
  const ascii = json.replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return btoa(ascii).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The range of a JavaScript Date from 1970 on. */
const INSTANT_MAX_MS = 8_640_000_000_000_000;

/** Milliseconds since the epoch. */
export const isInstant: Shape<number> = (value): value is number =>
  typeof value === "number" && value >= 0 && value <= INSTANT_MAX_MS;

/** A text that every database can hold. */
export const isText: Shape<string> = (value): value is string =>
  typeof value === "string" && !value.includes("\0") && !/\p{Surrogate}/u.test(value);

/** A serial number that a JavaScript number holds exactly. */
export const isCount: Shape<number> = (value): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
