/** What has changed of sagas lately. */
import { bigint, optional, text } from "../../storage/column.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { projection } from "../../storage/table.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import { selectVersions } from "./change-queries.ts";
import { listLines } from "./list-queries.ts";
import { toSummary, type SagaSummary } from "./summary.ts";

/** The newest that changed at an instant or later. */
export async function changedSagas(
  reader: Reader,
  sinceMs: number,
  limit: number,
): Promise<readonly SagaSummary[]> {
  const statuses = sagaMachine.states;
  const range = { statuses, names: undefined, fromMs: sinceMs, toMs: undefined, after: undefined };
  return (await reader.query(listLines(reader.dialect, range, limit))).map(toSummary);
}

const VERSION = projection({
  id: text("saga_id"),
  version: bigint("version"),
  reported: optional(text("reported")),
});

export interface SagaVersion {
  readonly id: string;
  readonly version: number;
  /** Changes with every report of the progress of one of its calls; undefined without any. */
  readonly reported: string | undefined;
}

export async function sagaVersions(reader: Reader, ids: readonly string[]): Promise<readonly SagaVersion[]> {
  if (ids.length === 0) return [];
  const rows = await reader.query(selectVersions(reader.dialect, ids));
  return rows.map((row) => VERSION.read(row));
}
