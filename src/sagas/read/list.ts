/** Pages of sagas by their last change, newest first, with those that retention has archived. */
import { cursor, isInstant, isText, type Page } from "../../core/cursor.ts";
import { text } from "../../storage/column.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { scanned } from "../../storage/read/scan.ts";
import { projection } from "../../storage/table.ts";
import { listArchived, listArchivedByPrefix } from "./archive-list-queries.ts";
import {
  listByPrefix,
  listLines,
  listNames,
  SCAN_MAX,
  searchLines,
  type Fragment,
  type SagaRange,
} from "./list-queries.ts";
import { toSummary, type SagaSummary } from "./summary.ts";

export interface SagaFilter extends Omit<SagaRange, "after"> {
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after: string | undefined;
}

export interface SearchPage extends Page<SagaSummary> {
  /** How far back the search has looked, where there is more to look through. */
  readonly searchedToMs: number | undefined;
}

const PLACE = cursor<[number, string]>(isInstant, isText);

function rangeOf({ after, ...filter }: SagaFilter): SagaRange {
  return { ...filter, after: PLACE.decode(after) };
}

function placeOf({ updatedAtMs, id }: SagaSummary): string {
  return PLACE.encode(updatedAtMs, id);
}

export async function listSagas(reader: Reader, filter: SagaFilter): Promise<Page<SagaSummary>> {
  const { dialect } = reader;
  const [range, limit] = [rangeOf(filter), filter.limit];
  const live = await reader.query(listLines(dialect, range, limit + 1));
  const archived = listArchived(dialect, range, limit + 1);
  const old = archived ? await reader.query(archived) : [];
  return merged(live.map(toSummary), old.map(toSummary), byChange, limit);
}

/** Sagas whose id begins with the prefix, the last id first. */
export async function listSagasByPrefix(
  reader: Reader,
  prefix: string,
  filter: SagaFilter,
): Promise<Page<SagaSummary>> {
  const { dialect } = reader;
  const [range, limit] = [rangeOf(filter), filter.limit];
  const live = await reader.query(listByPrefix(dialect, prefix, range, limit + 1));
  const old = await reader.query(listArchivedByPrefix(dialect, prefix, range, limit + 1));
  return merged(live.map(toSummary), old.map(toSummary), byId, limit);
}

/** Sagas whose input contains one fragment of each of `fields`. It looks through the newest few thousand per page. */
export async function searchSagas(
  reader: Reader,
  fields: readonly (readonly Fragment[])[],
  filter: SagaFilter,
): Promise<SearchPage> {
  const statement = searchLines(reader.dialect, rangeOf(filter), fields, filter.limit + 1);
  const { hits, cut } = scanned(await reader.query(statement), SCAN_MAX);
  const page = pageOf(hits.map(toSummary), filter.limit);
  if (page.next !== undefined || !cut) return { ...page, searchedToMs: undefined };
  const edge = toSummary(cut);
  return { items: page.items, next: placeOf(edge), searchedToMs: edge.updatedAtMs };
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
