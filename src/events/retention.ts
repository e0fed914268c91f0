/** Removes ended runs, each with the entries of the outbox that were written for it. */
import type { FlowStatus } from "../core/flow/machine.ts";
import { deleteEntries } from "../outbox/retention/queries.ts";
import type { Session } from "../storage/database.ts";
import { deleteRuns, selectExpiredRuns } from "./retention-queries.ts";
import { RUN_TRAIL, trailOf } from "./store/run-row.ts";

/** The longest ended first. Returns the number of removed runs. */
export async function removeRuns(
  session: Session,
  { status, afterMs }: { readonly status: FlowStatus; readonly afterMs: number },
  limit: number,
): Promise<number> {
  const { dialect } = session;
  const rows = await session.query(selectExpiredRuns(dialect, status, afterMs, limit));
  if (rows.length === 0) return 0;
  const runs = rows.map((row) => RUN_TRAIL.read(row));
  await session.query(deleteEntries(dialect, runs.flatMap(trailOf)));
  const ids = runs.map(({ sagaId }) => sagaId);
  await session.query(deleteRuns(dialect, ids));
  return ids.length;
}
