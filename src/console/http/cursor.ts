/** Where a page ended, as a text that the next request brings back: an instant as the database has it, and an id. */
import { badInput } from "./answer.ts";
import { text, type Param } from "./param.ts";

export interface Cursor {
  readonly atMs: number;
  readonly id: string;
}

export function writeCursor({ atMs, id }: Cursor): string {
  return Buffer.from(JSON.stringify([atMs, id])).toString("base64url");
}

/** No instant is later by JavaScript's clock; what is earlier than 1970 no database of ours has written. */
const INSTANT_MAX_MS = 8_640_000_000_000_000;

/** `ids`: what the ids of the list look like. */
export function cursor(ids: RegExp = /^[^\0]*$/): Param<Cursor | undefined> {
  const bounded = text(2_000);
  return {
    schema: { type: "string", description: "The `next` of the page before." },
    required: false,
    read: (value, field) => {
      const given = bounded.read(value, field);
      if (given === undefined) return undefined;
      try {
        const [atMs, id] = JSON.parse(Buffer.from(given, "base64url").toString()) as unknown[];
        const isInstant = typeof atMs === "number" && atMs >= 0 && atMs <= INSTANT_MAX_MS;
        if (isInstant && typeof id === "string" && ids.test(id)) return { atMs, id };
      } catch {
        // Told below.
      }
      throw badInput(field, "must be the `next` of the page before");
    },
  };
}
