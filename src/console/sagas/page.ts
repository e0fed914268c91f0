/** One page of sagas: which walk through the table answers what somebody asked for. */
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Row } from "../../storage/database.ts";
import { listArchived, listArchivedByPrefix } from "./archive-queries.ts";
import type { SagaPage } from "../contract.ts";
import type { Cursor } from "../http/cursor.ts";
import type { ConsoleContext } from "../context.ts";
import { cursorOf, iso } from "./lines.ts";
import { toLines } from "./read-lines.ts";
import { listByPrefix, listLines, SCAN_MAX, searchLines, type Fragment, type SagaFilter } from "./queries.ts";
import { anyField, readSearch } from "./search.ts";

export interface SagaQuestion {
  readonly q: string | undefined;
  readonly name: string | undefined;
  readonly statuses: readonly SagaStatus[];
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly limit: number;
  readonly after: Cursor | undefined;
  readonly mayReveal: boolean;
}

/** More than these, and what was typed says too little. */
const NAMES_MAX = 20;

export async function pageOf(context: ConsoleContext, question: SagaQuestion): Promise<SagaPage> {
  const { q, name, statuses, fromMs, toMs, limit, after } = question;
  const search = readSearch(q ?? "", q === undefined ? [] : await context.names(), question.mayReveal);
  const wanted = statuses.length > 0 ? statuses : sagaMachine.states;
  const names = search.names ?? (name === undefined ? undefined : [name]);
  const filter: SagaFilter = {
    statuses: wanted.filter((status) => search.statuses?.includes(status) ?? true),
    names: (name === undefined ? names : names?.filter((found) => found === name))?.slice(0, NAMES_MAX),
    fromMs,
    toMs,
    after,
  };
  if (filter.statuses.length === 0 || filter.names?.length === 0) return EMPTY;
  const { fields, prefix } = search;
  if (prefix !== undefined && fields.length === 0) {
    const found = await byPrefix(context, prefix, filter, limit);
    // Nothing begins like it: it may be a value. On a later page the first one has decided.
    if (found.items.length > 0) return found;
    return byFields(context, [anyField(prefix)], filter, limit);
  }
  if (fields.length > 0) return byFields(context, fields, filter, limit);
  const { dialect } = context.db;
  const rows = await context.query(listLines(dialect, filter, limit + 1));
  const archived = listArchived(dialect, filter, limit + 1);
  return mergedPage(context, rows, archived ? await context.query(archived) : [], byChange, limit);
}

type Order = (a: Row, b: Row) => number;

const byId: Order = (a, b) => compare(b["id"] as string, a["id"] as string);
const byChange: Order = (a, b) => Number(b["updated_at"]) - Number(a["updated_at"]) || byId(a, b);

/** As the databases compare ids: byte by byte. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** An id that was used again is shown once: as it is where it ran, or as it was archived last. */
function mergedPage(
  context: ConsoleContext,
  live: readonly Row[],
  archived: readonly Row[],
  order: Order,
  limit: number,
): Promise<SagaPage> {
  const found = new Map([...archived.toReversed(), ...live].map((row) => [row["id"] as string, row]));
  const isCut = Math.max(live.length, archived.length) > limit;
  const rows = archived.length === 0 ? live : [...found.values()].toSorted(order);
  return page(context, rows, limit, isCut);
}

const EMPTY: SagaPage = { items: [], next: null, searchedTo: null };

async function byPrefix(
  context: ConsoleContext,
  prefix: string,
  filter: SagaFilter,
  limit: number,
): Promise<SagaPage> {
  const { dialect } = context.db;
  const rows = await context.query(listByPrefix(dialect, prefix, filter, limit + 1));
  const archived = await context.query(listArchivedByPrefix(dialect, prefix, filter, limit + 1));
  return mergedPage(context, rows, archived, byId, limit);
}

async function byFields(
  context: ConsoleContext,
  fields: readonly (readonly Fragment[])[],
  filter: SagaFilter,
  limit: number,
): Promise<SagaPage> {
  const rows = await context.query(searchLines(context.db.dialect, filter, fields, limit + 1));
  const edge = rows.find((row) => Number(row["edge"]) === 1);
  const hits = rows.filter((row) => row !== edge);
  const found = await page(context, hits, limit);
  if (found.next !== null || !edge || Number(edge["looked"]) < SCAN_MAX) return found;
  // There is more to look through: the next page goes on where this one stopped looking.
  return { items: found.items, next: cursorOf(edge), searchedTo: iso(Number(edge["updated_at"])) };
}

/** One more row than fits was asked for: where it came, there is a next page. */
async function page(
  context: ConsoleContext,
  rows: readonly Row[],
  limit: number,
  isCut: boolean = false,
): Promise<SagaPage> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: await toLines(context, shown),
    next: last && (isCut || rows.length > limit) ? cursorOf(last) : null,
    searchedTo: null,
  };
}
