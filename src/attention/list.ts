/** The list of what needs a person: all kinds in one order, the oldest first. */
import { AmendsError } from "../core/errors.ts";
import { cursor, isCount, isInstant, isText, type Page, type Shape } from "../core/cursor.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Reader } from "../storage/read/reader.ts";
import type { Start } from "../storage/read/selection.ts";
import { ATTENTION_KINDS, type AttentionItem, type AttentionKind } from "./item.ts";
import { SOURCES } from "./kinds.ts";

/** Which page of attention items is returned. */
export interface AttentionOptions {
  /** Only items of this kind. Default: all kinds. */
  readonly kind?: AttentionKind;
  /** The size of a page. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** One page of attention items, the oldest first. */
export type AttentionPage = Page<AttentionItem>;

const LIMIT_MAX = 1_000;

const isRank: Shape<number> = (value): value is number => isCount(value) && value < SOURCES.length;
/** The instant, the source and the row of the last item. Sources come one after another within an instant. */
const PLACE = cursor<[atMs: number, rank: number, id: string]>(isInstant, isRank, isText);

export async function listAttention(reader: Reader, options: AttentionOptions = {}): Promise<AttentionPage> {
  refuseUnknown(options, ["kind", "limit", "after"], "A page of what needs attention");
  const { kind, limit = 100 } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw new AmendsError("BAD_OPTION", `A page of what needs attention has 1 to ${LIMIT_MAX} items.`);
  if (kind !== undefined && !ATTENTION_KINDS.includes(kind))
    throw new AmendsError("BAD_OPTION", `\`kind\` must be one of ${ATTENTION_KINDS.join(", ")}.`);
  const place = PLACE.decode(options.after);
  const found = [];
  for (const [rank, source] of SOURCES.entries()) {
    if (kind !== undefined && kind !== source.kind) continue;
    // One more than fits: where it comes, there is a next page.
    const items = await source.items(reader, limit + 1, place && startOf(rank, place));
    found.push(...items.map((item) => ({ ...item, rank })));
  }
  // The sort is stable: rows of one source stay in the database's order.
  const shown = found.toSorted((a, b) => a.atMs - b.atMs || a.rank - b.rank).slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(({ record }) => record),
    next: last && PLACE.encode(last.atMs, last.rank, last.id),
  };
}

/** Sources before the last item's have been listed up to its instant, sources after it have not. */
function startOf(
  rank: number,
  [atMs, lastRank, id]: readonly [atMs: number, rank: number, id: string],
): Start {
  return rank === lastRank ? { atMs, id } : { atMs, inclusive: rank > lastRank };
}
