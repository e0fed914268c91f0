/** Pages of the outbox, newest first, and the entries of a subject's requests or of a run. */
import { cursor, type Page } from "../../core/cursor.ts";
import { isUuid } from "../../core/flow/sealed.ts";
import type { OutboxKind, OutboxOperation } from "../../core/outbox/entry.ts";
import { settled, type OutboxStatus } from "../../core/outbox/machine.ts";
import { int, text } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { scanned } from "../../storage/read/scan.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import { projection } from "../../storage/table.ts";
import { LISTED, TRAIL, type ListedEntry, type TrailEntry } from "./entry.ts";
import {
  abandonedRows,
  countOpenOf,
  ENTRY_SCAN_MAX,
  listNewest,
  listNewestAbandoned,
  listOpenOf,
  selectEntry,
  selectTrail,
} from "./list-queries.ts";

export interface EntryFilter {
  /** Empty: entries in every state. */
  readonly statuses: readonly OutboxStatus[];
  /** Empty: entries of every kind. */
  readonly kinds: readonly OutboxKind[];
  /** The resolver, the call or the event. */
  readonly name: string | undefined;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after: string | undefined;
}

const PLACE = cursor<[string]>(isUuid);

function toListed(row: Row): ListedEntry {
  return LISTED.read(row);
}

export async function listEntries(reader: Reader, filter: EntryFilter): Promise<Page<ListedEntry>> {
  const { statuses, kinds, name, limit } = filter;
  const [after] = PLACE.decode(filter.after) ?? [];
  const { dialect } = reader;
  if (statuses.length === 1 && statuses[0] === settled("abandon") && name === undefined) {
    const rows = await reader.query(listNewestAbandoned(dialect, kinds, after, limit + 1));
    return pageOf(rows.map(toListed), limit);
  }
  const rows = await reader.query(listNewest(dialect, { statuses, kinds, name, after }, limit + 1));
  const { hits, cut } = scanned(rows, ENTRY_SCAN_MAX);
  const page = pageOf(hits.map(toListed), limit);
  if (page.next !== undefined || !cut) return page;
  return { items: page.items, next: PLACE.encode(LISTED.read(cut).entryId) };
}

function pageOf(entries: readonly ListedEntry[], limit: number): Page<ListedEntry> {
  const items = entries.slice(0, limit);
  const last = entries.length > limit ? items.at(-1) : undefined;
  return { items, next: last && PLACE.encode(last.entryId) };
}

export async function readEntry(reader: Reader, id: string): Promise<ListedEntry | undefined> {
  const [row] = isUuid(id) ? await reader.query(selectEntry(reader.dialect, id)) : [];
  return row && LISTED.read(row);
}

/** The open entries of a subject's requests. */
export async function openEntriesOf(
  reader: Reader,
  subjectId: string,
  limit: number = ENTRY_SCAN_MAX,
): Promise<readonly ListedEntry[]> {
  return (await reader.query(listOpenOf(reader.dialect, subjectId, limit))).map(toListed);
}

const OPEN_COUNT = projection({
  subjectId: text("subject_id"),
  operation: text<OutboxOperation>("operation"),
  entries: int("entries"),
  abandoned: int("abandoned"),
});

export interface OpenCount {
  readonly subjectId: string;
  readonly operation: OutboxOperation;
  readonly entries: number;
  /** The abandoned ones of these. */
  readonly abandoned: number;
}

/** The number of open entries of these subjects' requests; subjects without any are left out. */
export async function countOpenEntries(
  reader: Reader,
  subjectIds: readonly string[],
): Promise<readonly OpenCount[]> {
  if (subjectIds.length === 0) return [];
  const rows = await reader.query(countOpenOf(reader.dialect, subjectIds));
  return rows.map((row) => OPEN_COUNT.read(row));
}

/** The entries that were written for a run, oldest first. */
export async function readTrail(reader: Reader, ids: readonly string[]): Promise<readonly TrailEntry[]> {
  const rows = await reader.query(selectTrail(reader.dialect, ids));
  return rows.map((row) => TRAIL.read(row));
}

/** Abandoned entries of one kind, oldest first. */
export function abandonedEntries(kind: OutboxKind): Source<ListedEntry> {
  return sourceOf((dialect) => abandonedRows(dialect, kind), toListed);
}
