/** How much needs a person, by kind. Each count stops at a bound. */
import { countUpTo, sumOf, type Count } from "../core/count.ts";
import type { Dialect } from "../storage/database.ts";
import { readFigures, type Figure } from "../storage/read/figures.ts";
import type { Reader } from "../storage/read/reader.ts";
import { countRows } from "../storage/read/selection.ts";
import { ATTENTION_KINDS, type AttentionKind } from "./item.ts";
import { SOURCES } from "./kinds.ts";

/** The number of items that need attention. Counting stops at 5,000 of a kind. */
export interface AttentionCounts {
  /** The number of items of all kinds together. */
  readonly total: Count;
  /** The number of items of each kind; 0 for a kind without items. */
  readonly kinds: Readonly<Record<AttentionKind, Count>>;
}

/** Counts of some kinds. */
export type KindCounts = Readonly<Partial<Record<AttentionKind, Count>>>;

const COUNT_MAX = 5_000;

/** Counting a costly kind reads more than an index of just its rows: where many look, it is counted rarely. */
export const COSTLY_KINDS: readonly AttentionKind[] = [
  ...new Set(SOURCES.filter(({ costly }) => costly).map(({ kind }) => kind)),
];
export const CHEAP_KINDS: readonly AttentionKind[] = ATTENTION_KINDS.filter(
  (kind) => !COSTLY_KINDS.includes(kind),
);

/** As figures, for a statement that reads others as well. */
export function attentionFigures(
  dialect: Dialect,
  kinds: readonly AttentionKind[],
): Readonly<Record<string, Figure<Count>>> {
  const figureOf = (kind: AttentionKind): Figure<Count> => {
    const sources = SOURCES.filter((source) => source.kind === kind);
    const selections = sources.map((source) => source.selection(dialect));
    return {
      expression: countRows(selections, COUNT_MAX + 1),
      read: (value) => countUpTo(Number(value), COUNT_MAX),
    };
  };
  return Object.fromEntries(kinds.map((kind) => [kind, figureOf(kind)]));
}

export async function countKinds(reader: Reader, kinds: readonly AttentionKind[]): Promise<KindCounts> {
  return readFigures(reader, attentionFigures(reader.dialect, kinds));
}

export async function countAttention(reader: Reader): Promise<AttentionCounts> {
  return countsOf(await countKinds(reader, ATTENTION_KINDS));
}

/** A kind that was not counted counts as none. */
export function countsOf(counted: KindCounts): AttentionCounts {
  const counts = ATTENTION_KINDS.map((kind) => [kind, counted[kind] ?? NONE] as const);
  return {
    total: sumOf(counts.map(([, count]) => count)),
    kinds: Object.fromEntries(counts) as unknown as Record<AttentionKind, Count>,
  };
}

const NONE: Count = { value: 0, exact: true };
