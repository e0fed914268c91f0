/** Lines of sagas that have no row. A saga that is started with such an id stalls, so an operator must look first. */
import type { Reader } from "../../storage/read/reader.ts";
import { listOrphaned, ORPHANED, type OrphanedLines } from "./orphaned-queries.ts";

export type { OrphanedLines };

export async function orphanedLines(reader: Reader, limit: number): Promise<readonly OrphanedLines[]> {
  return (await reader.query(listOrphaned(reader.dialect, limit))).map((row) => ORPHANED.read(row));
}
