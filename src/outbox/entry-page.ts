/** Lists of entries come in pages: whoever reads on passes the cursor back. */
import { AmendsError } from "../core/errors.ts";
import type { OutboxEntry } from "../core/outbox/entry.ts";
import { checkUuid } from "../core/identity.ts";
import { toEntry, type EntryRow } from "./rows.ts";

export interface PageOptions {
  /** 100 unless said otherwise. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

export interface EntryPage {
  readonly entries: readonly OutboxEntry[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

const LIMIT_MAX = 1_000;

export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new AmendsError("BAD_OPTION", `A page of the outbox has 1 to ${LIMIT_MAX} entries.`);
}

export function readCursor(after: string | undefined): readonly [number, string] | undefined {
  if (after === undefined) return undefined;
  try {
    const [atMs, entryId] = JSON.parse(after) as unknown[];
    if (typeof atMs === "number") return [atMs, checkUuid(entryId, "after")];
  } catch {
    // Told below.
  }
  throw new AmendsError("BAD_OPTION", "`after` must be the `next` of the page before.");
}

/** By which instant a list is ordered. */
export type PageOrder = "enqueuedAt" | "nextAttemptAt";

/** The cursor holds the instant as the database has it: a Date would cut it off. */
export function cursorOf<By extends PageOrder>(
  rows: readonly (Pick<EntryRow, "entryId"> & { readonly [Key in By]: number | undefined })[],
  by: By,
  limit: number,
): string | undefined {
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return last && JSON.stringify([last[by], last.entryId]);
}

export function pageOf(rows: readonly EntryRow[], by: PageOrder, limit: number): EntryPage {
  return { entries: rows.map(toEntry), next: cursorOf(rows, by, limit) };
}
