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

export function cursor(): Param<Cursor | undefined> {
  const bounded = text(2_000);
  return {
    schema: { type: "string", description: "The `next` of the page before." },
    required: false,
    read: (value, field) => {
      const given = bounded.read(value, field);
      if (given === undefined) return undefined;
      try {
        const [atMs, id] = JSON.parse(Buffer.from(given, "base64url").toString()) as unknown[];
        if (typeof atMs === "number" && Number.isFinite(atMs) && typeof id === "string" && !id.includes("\0"))
          return { atMs, id };
      } catch {
        // Told below.
      }
      throw badInput(field, "must be the `next` of the page before");
    },
  };
}
