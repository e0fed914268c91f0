/**
 * Pages of sagas by their last change, newest first. A filter by one attribute or by an error walks the index of that; of several, the
 * rarest is walked and the others are looked at, a bounded part for each page. Without such a filter, archived sagas are listed, too.
 */
import { countUpTo, type Count } from "../../core/count.ts";
import { cursor, isInstant, isText, type Page } from "../../core/cursor.ts";
import { attributeText, type Attributes } from "../../core/start/attributes.ts";
import { int, text } from "../../storage/column.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { scanned } from "../../storage/read/scan.ts";
import { projection } from "../../storage/table.ts";
import { listArchived, listArchivedByPrefix } from "./archive-list-queries.ts";
import {
  countEach,
  countMarked,
  listByPrefix,
  listLines,
  listNames,
  SCAN_MAX,
  searchLines,
  type Fragment,
} from "./list-queries.ts";
import { toSummary, type SagaSummary } from "./summary.ts";
import { countWalked, type Lead, type SagaRange } from "./walk-queries.ts";

export interface SagaFilter extends Omit<SagaRange, "after" | "lead"> {
  /** It has each of these. */
  readonly attributes: Attributes | undefined;
  /** The label of why it failed, stalled or keeps failing. */
  readonly error: string | undefined;
}

export interface ListedPage {
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after: string | undefined;
  /** Whether sagas that retention has archived are listed, too. */
  readonly archived: boolean;
}

export interface SearchPage extends Page<SagaSummary> {
  /** How far back the search has looked, where there is more to look through. */
  readonly searchedToMs: number | undefined;
}

const PLACE = cursor<[number, string]>(isInstant, isText);

function placeOf({ updatedAtMs, id }: SagaSummary): string {
  return PLACE.encode(updatedAtMs, id);
}

/** `fields`: its input contains one fragment of each. */
export async function listSagas(
  reader: Reader,
  filter: SagaFilter,
  { limit, after, archived }: ListedPage,
  fields: readonly (readonly Fragment[])[] = [],
): Promise<SearchPage> {
  const { dialect } = reader;
  const { range, marks } = await walked(reader, filter, after);
  if (marks.length > 0 || fields.length > 0) {
    const found = await reader.query(searchLines(dialect, range, { fields, marks }, limit + 1));
    return searched(scanned(found, SCAN_MAX), limit);
  }
  const live = await reader.query(listLines(dialect, range, limit + 1));
  const statement = archived && !range.lead ? listArchived(dialect, range, limit + 1) : undefined;
  const old = statement ? await reader.query(statement) : [];
  return { ...merged(live.map(toSummary), old.map(toSummary), byChange, limit), searchedToMs: undefined };
}

function searched({ hits, cut }: ReturnType<typeof scanned>, limit: number): SearchPage {
  const page = pageOf(hits.map(toSummary), limit);
  if (page.next !== undefined || !cut) return { ...page, searchedToMs: undefined };
  const edge = toSummary(cut);
  return { items: page.items, next: placeOf(edge), searchedToMs: edge.updatedAtMs };
}

/** Counts no further than `max`. With several attributes, or an error beside one, it looks at no more sagas than a search. */
export async function countListed(reader: Reader, filter: SagaFilter, max: number): Promise<Count> {
  const { dialect } = reader;
  const { range, marks } = await walked(reader, filter, undefined);
  if (marks.length === 0) {
    const [row] = await reader.query(countWalked(dialect, range, max));
    return countUpTo(row ? FOUND.read(row).found : 0, max);
  }
  const [row] = await reader.query(countMarked(dialect, range, marks, SCAN_MAX));
  const { looked, found } = row ? MARKED.read(row) : { looked: 0, found: 0 };
  return { value: found, exact: looked < SCAN_MAX };
}

const FOUND = projection({ found: int("found") });
const MARKED = projection({ looked: int("looked"), found: int("found") });

interface WalkedFilter {
  readonly range: SagaRange;
  /** What each saga of the walk is looked at for. */
  readonly marks: readonly Lead[];
}

async function walked(reader: Reader, filter: SagaFilter, after: string | undefined): Promise<WalkedFilter> {
  const { statuses, names, fromMs, toMs } = filter;
  const marks = marksOf(filter);
  const lead = await rarest(reader, marks);
  return {
    range: { statuses, names, fromMs, toMs, after: PLACE.decode(after), lead },
    marks: marks.filter((mark) => mark !== lead),
  };
}

function marksOf({ attributes = {}, error }: SagaFilter): readonly Lead[] {
  const all: Lead[] = Object.entries(attributes).map(([attribute, value]) => ({
    attribute,
    value: attributeText(value, attribute, "A filter"),
  }));
  return error === undefined ? all : [...all, { error }];
}

/** Counting further says no more: what is as frequent as this fills a page soon. */
const RARE_MAX = 1_000;

async function rarest(reader: Reader, marks: readonly Lead[]): Promise<Lead | undefined> {
  if (marks.length < 2) return marks[0];
  const [row] = await reader.query(countEach(reader.dialect, marks, RARE_MAX));
  const counts = marks.map((_, index) => Number(row?.[`mark_${index}`]));
  return marks[counts.indexOf(Math.min(...counts))];
}

/** Sagas whose id begins with the prefix, the last id first. */
export async function listSagasByPrefix(
  reader: Reader,
  prefix: string,
  filter: SagaFilter,
  { limit, after, archived }: ListedPage,
): Promise<Page<SagaSummary>> {
  const { dialect } = reader;
  const { statuses, names, fromMs, toMs } = filter;
  const range = { statuses, names, fromMs, toMs, after: PLACE.decode(after) };
  const marks = marksOf(filter);
  const live = await reader.query(listByPrefix(dialect, prefix, range, marks, limit + 1));
  const old =
    archived && marks.length === 0
      ? await reader.query(listArchivedByPrefix(dialect, prefix, range, limit + 1))
      : [];
  return merged(live.map(toSummary), old.map(toSummary), byId, limit);
}

const NAME = projection({ name: text("name") });

export async function sagaNames(reader: Reader, limit: number): Promise<readonly string[]> {
  const rows = await reader.query(listNames(reader.dialect, limit));
  return rows.map((row) => NAME.read(row).name);
}

type Order = (a: SagaSummary, b: SagaSummary) => number;

/** As the databases compare ids: byte by byte. */
const byId: Order = (a, b) => Buffer.compare(Buffer.from(b.id), Buffer.from(a.id));
const byChange: Order = (a, b) => b.updatedAtMs - a.updatedAtMs || byId(a, b);

/** An id that was used again is shown once: as it is where it ran, or as it was archived last. */
function merged(
  live: readonly SagaSummary[],
  archived: readonly SagaSummary[],
  order: Order,
  limit: number,
): Page<SagaSummary> {
  if (archived.length === 0) return pageOf(live, limit);
  const found = new Map([...archived.toReversed(), ...live].map((saga) => [saga.id, saga]));
  const isCut = Math.max(live.length, archived.length) > limit;
  return pageOf([...found.values()].toSorted(order), limit, isCut);
}

/** One more than fits was asked for: where it came, there is a next page. */
function pageOf(sagas: readonly SagaSummary[], limit: number, isCut: boolean = false): Page<SagaSummary> {
  const items = sagas.slice(0, limit);
  const last = items.at(-1);
  return { items, next: last && (isCut || sagas.length > limit) ? placeOf(last) : undefined };
}
