/**
 * A step that acts once for each item of a list. The list is computed once and recorded before its first item begins: from then on
 * an item is known by its number, and by the key that the application gave it.
 */
import { BYTES_MAX } from "../../json.ts";

/** How a planned step treats its list. */
export interface Each {
  /** The most items that act at once. */
  readonly limit: number;
}

/** `:*5` behind the step's signs: no signal has such a name. */
export function eachText({ limit }: Each): string {
  return `:*${limit}`;
}

/** Undefined if this is no such text. */
export function readEach(text: string): Each | undefined {
  const match = /^:\*([1-9]\d*)$/.exec(text);
  return match ? { limit: Number(match[1]) } : undefined;
}

/** How the step differs from the recorded one, in words. Another limit does not: the recorded one holds. */
export function eachChange(recorded: Each | undefined, now: Each | undefined): string | undefined {
  if ((recorded === undefined) === (now === undefined)) return undefined;
  return now ? "became a step for each item of a list" : "no longer acts for each item of a list";
}

/** For pictures: "each item, at most 5 at once". */
export function eachPhrase({ limit }: Each): string {
  return `each item, at most ${limit} at once`;
}

/** The most items of a list, and the most bytes of all of its items, and of all of their results. */
export const LIST_MAX = 10_000;
export const LIST_BYTES_MAX: number = 16 * BYTES_MAX;

/** One item, as it is recorded. */
export interface ListedItem {
  readonly key: string;
  readonly value: unknown;
}

/** The details of a line that records items: it is not the last such line if `more` is set. */
interface Listing {
  readonly items: readonly (readonly [key: string, value: unknown])[];
  readonly more?: true;
}

/** A line is at most about this long, so that no single value of the log grows with the list. */
const CHUNK_MAX = 256 * 1024;

/** The details of the lines that record these items. `json` is the text of the item's value. An empty list is one line, too. */
export function listingDetails(
  items: readonly { readonly key: string; readonly json: string }[],
): readonly string[] {
  const chunks: string[][] = [[]];
  let length = 0;
  for (const { key, json } of items) {
    const text = `[${JSON.stringify(key)},${json}]`;
    if (length > 0 && length + text.length > CHUNK_MAX) {
      chunks.push([]);
      length = 0;
    }
    (chunks.at(-1) as string[]).push(text);
    length += text.length + 1;
  }
  return chunks.map(
    (chunk, index) => `{"items":[${chunk.join(",")}]${index < chunks.length - 1 ? ',"more":true' : ""}}`,
  );
}

export function readListing(details: string): {
  readonly items: readonly ListedItem[];
  readonly isLast: boolean;
} {
  const { items, more } = JSON.parse(details) as Listing;
  return { items: items.map(([key, value]) => ({ key, value })), isLast: more !== true };
}
