/** Rows of sagas as lines of a list, with one look at the logs of those whose row does not say enough. */
import type { Row } from "../../storage/database.ts";
import type { SagaLine } from "../contract.ts";
import type { ConsoleContext } from "../context.ts";
import { needsLog, toLine } from "./lines.ts";
import { selectRunLines } from "./queries.ts";
import { readLines } from "./run-lines.ts";

export async function toLines(
  { db, query }: Pick<ConsoleContext, "db" | "query">,
  rows: readonly Row[],
): Promise<readonly SagaLine[]> {
  const ids = rows.filter(needsLog).map((row) => row["id"] as string);
  const found = ids.length === 0 ? [] : await query(selectRunLines(db.dialect, ids));
  const logs = new Map<string, Row[]>(ids.map((id) => [id, []]));
  for (const row of found) logs.get(row["saga_id"] as string)?.push(row);
  return rows.map((row) => {
    const log = needsLog(row) ? logs.get(row["id"] as string) : undefined;
    return toLine(row, log && readLines(log));
  });
}
