/** Pages of the sagas that a person has paused one by one. */
import { cursor, isInstant, isText, type Page } from "../../core/cursor.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { listPaused, PAUSED } from "./paused-queries.ts";

export interface PausedSaga {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  readonly by: string | undefined;
  readonly sinceMs: number;
}

const PLACE = cursor<[number, string]>(isInstant, isText);

export async function pausedSagas(
  reader: Reader,
  limit: number,
  after: string | undefined,
): Promise<Page<PausedSaga>> {
  const rows = await reader.query(listPaused(reader.dialect, PLACE.decode(after), limit + 1));
  const found = rows.map((row) => PAUSED.read(row));
  const items = found.slice(0, limit).map(({ note: { reason, by }, ...saga }) => ({ ...saga, reason, by }));
  const last = found.length > limit ? items.at(-1) : undefined;
  return { items, next: last && PLACE.encode(last.sinceMs, last.id) };
}
