/** What has changed of sagas lately. */
import { bigint, text } from "../../storage/column.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { projection } from "../../storage/table.ts";
import { listChanged, selectVersions } from "./change-queries.ts";
import { toSummary, type SagaSummary } from "./summary.ts";

/** Newest first. */
export async function changedSagas(
  reader: Reader,
  sinceMs: number,
  limit: number,
): Promise<readonly SagaSummary[]> {
  return (await reader.query(listChanged(reader.dialect, sinceMs, limit))).map(toSummary);
}

const VERSION = projection({ id: text("saga_id"), version: bigint("version") });

export interface SagaVersion {
  readonly id: string;
  readonly version: number;
}

export async function sagaVersions(reader: Reader, ids: readonly string[]): Promise<readonly SagaVersion[]> {
  if (ids.length === 0) return [];
  const rows = await reader.query(selectVersions(reader.dialect, ids));
  return rows.map((row) => VERSION.read(row));
}
