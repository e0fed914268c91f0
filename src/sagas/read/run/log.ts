/** Sagas of a list with their logs, for those whose row does not say enough. One statement for all of them. */
import type { Reader } from "../../../storage/read/reader.ts";
import { LOGGED, selectRunLines } from "./line-queries.ts";
import { readLines, type LoggedLine, type RunLine } from "./lines.ts";
import type { SagaSummary } from "../summary.ts";

export interface LoggedSaga extends SagaSummary {
  /** Undefined where its row says enough, or where it is archived. */
  readonly log: readonly RunLine[] | undefined;
}

export async function withLogs(
  reader: Reader,
  sagas: readonly SagaSummary[],
): Promise<readonly LoggedSaga[]> {
  const ids = sagas.filter(needsLog).map(({ id }) => id);
  const rows = ids.length === 0 ? [] : await reader.query(selectRunLines(reader.dialect, ids));
  const logs = new Map<string, LoggedLine[]>(ids.map((id) => [id, []]));
  for (const line of rows.map((row) => LOGGED.read(row))) logs.get(line.sagaId)?.push(line);
  return sagas.map((saga) => {
    const log = needsLog(saga) ? logs.get(saga.id) : undefined;
    return { ...saga, log: log && readLines(log) };
  });
}

/** A saga that completed at its first claim needs no log: each step is done, unless it had a fallback. */
function needsLog({ archivedAtMs, status, claims = 0, plan }: SagaSummary): boolean {
  if (archivedAtMs !== undefined) return false;
  return status !== "COMPLETED" || claims > 1 || plan.some(({ instead }) => instead !== undefined);
}
