/** Pages of runs by their last change, newest first, and figures about them. */
import { countUpTo, type Count } from "../../core/count.ts";
import { cursor, isInstant, isText, type Page } from "../../core/cursor.ts";
import { flowMachine, OPEN_FLOWS, type FlowStatus } from "../../core/flow/machine.ts";
import { text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { sign, type Figure } from "../../storage/read/figures.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { scanned } from "../../storage/read/scan.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import { projection } from "../../storage/table.ts";
import { selectRuns } from "../store/run-queries.ts";
import {
  changeSign,
  countStatuses,
  listByPrefix,
  listNewest,
  listTypes,
  RUN_SCAN_MAX,
  stalledRows,
} from "./list-queries.ts";
import { toListedRun, type ListedRun } from "./run.ts";

export interface RunFilter {
  readonly statuses: readonly FlowStatus[];
  /** Undefined: runs of every type. */
  readonly types: readonly string[] | undefined;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after: string | undefined;
}

const PLACE = cursor<[number, string]>(isInstant, isText);

export async function listRuns(reader: Reader, filter: RunFilter): Promise<Page<ListedRun>> {
  const range = { ...filter, after: PLACE.decode(filter.after) };
  const rows = await reader.query(listNewest(reader.dialect, range, filter.limit + 1));
  const { hits, cut } = scanned(rows, RUN_SCAN_MAX);
  const page = pageOf(hits.map(toListedRun), filter.limit);
  if (page.next !== undefined || !cut) return page;
  return { items: page.items, next: placeOf(toListedRun(cut)) };
}

/** Runs of processes whose id begins with the prefix, and the run with exactly this id. */
export async function listRunsByPrefix(
  reader: Reader,
  prefix: string,
  types: readonly string[],
  { statuses, after, limit }: RunFilter,
): Promise<Page<ListedRun>> {
  const range = { statuses, after: PLACE.decode(after) };
  const rows = await reader.query(listByPrefix(reader.dialect, prefix, types, range, limit + 1));
  return pageOf(rows.map(toListedRun), limit);
}

function placeOf({ updatedAtMs, id }: ListedRun): string {
  return PLACE.encode(updatedAtMs, id);
}

function pageOf(runs: readonly ListedRun[], limit: number): Page<ListedRun> {
  const items = runs.slice(0, limit);
  const last = runs.length > limit ? items.at(-1) : undefined;
  return { items, next: last && placeOf(last) };
}

export async function readRun(reader: Reader, id: string): Promise<ListedRun | undefined> {
  const [row] = await reader.query(selectRuns(reader.dialect, [id]));
  return row && toListedRun(row);
}

const NAME = projection({ name: text("name") });

/** The names of the sagas that have runs. */
export async function runTypes(reader: Reader, limit: number): Promise<readonly string[]> {
  const rows = await reader.query(listTypes(reader.dialect, limit));
  return rows.map((row) => NAME.read(row).name);
}

/** The open states share one count: if it reached its limit, none of their numbers is exact. */
export async function countRuns(reader: Reader, max: number): Promise<Readonly<Record<FlowStatus, Count>>> {
  const [row] = await reader.query(countStatuses(reader.dialect, max));
  const isCut = Number(row?.["open"]) > max;
  const counts = flowMachine.states.map((status) => {
    const count = countUpTo(Number(row?.[status]), max);
    return [status, isCut && OPEN_FLOWS.includes(status) ? { ...count, exact: false } : count] as const;
  });
  return Object.fromEntries(counts) as unknown as Record<FlowStatus, Count>;
}

/** Stalled runs, the longest stalled first. */
export const stalledRuns: Source<ListedRun> = sourceOf(stalledRows, toListedRun);

export function runSign(dialect: Dialect): Figure<string> {
  return sign(changeSign(dialect));
}
