/**
 * A search that scans a bounded range of an index. Its statement returns the matching rows, and at the end the last
 * scanned row with `edge` set and the number of scanned rows, so that the next page continues there.
 */
import type { Row } from "../database.ts";

export interface Scanned {
  readonly hits: readonly Row[];
  /** The last scanned row, if there is more to scan. */
  readonly cut: Row | undefined;
}

export function scanned(rows: readonly Row[], lookedMax: number): Scanned {
  const edge = rows.find((row) => Number(row["edge"]) === 1);
  const hits = rows.filter((row) => row !== edge);
  return { hits, cut: edge && Number(edge["looked"]) >= lookedMax ? edge : undefined };
}
