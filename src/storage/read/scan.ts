/**
 * A search that looks through a stretch of an index and no further. Its statement returns the rows that fit, and last
 * the last row that it looked at, with `edge` set and with how many it looked at, so that the next page goes on there.
 */
import type { Row } from "../database.ts";

export interface Scanned {
  readonly hits: readonly Row[];
  /** The last row that was looked at, where there is more to look through. */
  readonly cut: Row | undefined;
}

export function scanned(rows: readonly Row[], lookedMax: number): Scanned {
  const edge = rows.find((row) => Number(row["edge"]) === 1);
  const hits = rows.filter((row) => row !== edge);
  return { hits, cut: edge && Number(edge["looked"]) >= lookedMax ? edge : undefined };
}
