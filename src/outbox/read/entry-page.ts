/** Lists of entries come in pages: `next` of one page is `after` of the following one. */
import { cursor, isInstant, type Cursor } from "../../core/cursor.ts";
import { AmendsError } from "../../core/errors.ts";
import { isUuid } from "../../core/flow/sealed.ts";
import type { OutboxEntry } from "../../core/outbox/entry.ts";

/** Which page of a list is returned. */
export interface PageOptions {
  /** The size of a page, 1 to 1000 entries. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** One page of outbox entries. */
export interface EntryPage {
  /** The entries of this page. */
  readonly entries: readonly OutboxEntry[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

const LIMIT_MAX = 1_000;

export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new AmendsError("BAD_OPTION", `A page of the outbox has 1 to ${LIMIT_MAX} entries.`);
}

/** The instant and the id of the last entry of a page. */
export const ENTRY_PLACE: Cursor<[atMs: number, id: string]> = cursor(isInstant, isUuid);
