/** Lines of sagas that have no row. A saga that is started with such an id stalls, so an operator must look first. */
import type { Database } from "../../storage/database.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import {
  listOrphaned,
  LOST,
  lostRows,
  ORPHANED,
  recordLost,
  type LostSaga,
  type OrphanedLines,
} from "./queries.ts";

export type { LostSaga, OrphanedLines };

/** Reads the whole log. */
export async function orphanedLines(reader: Reader, limit: number): Promise<readonly OrphanedLines[]> {
  return (await reader.query(listOrphaned(reader.dialect, limit))).map((row) => ORPHANED.read(row));
}

/** What the scan and workers have found, the oldest first. */
export const lostSagas: Source<LostSaga> = sourceOf(lostRows, (row) => LOST.read(row));

/**
 * A worker has met a saga that the database has lost. Nothing is recorded if the saga left no line behind. If this fails, the
 * scan of the log finds the lines later.
 */
export function foundLost(db: Database | undefined, sagaId: string, name: string): void {
  db?.query(recordLost(db.dialect, [{ sagaId, name }])).catch(() => undefined);
}
