/**
 * Sagas that have ended and were moved out of the way: each is one row, with its row and its log in it as they were
 * read, so that it is shown by the same code as before.
 */
import { toLogEntry, toRecord } from "../sagas/journal/rows.ts";
import { selectLogs } from "../sagas/journal/queries.ts";
import { viewOf, type SagaView } from "../sagas/view/view.ts";
import type { Database, Row, Session } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { insertArchived, selectArchived, selectEnded } from "./archive-queries.ts";

export interface ArchivedSaga {
  /** As it was when it was archived. */
  readonly view: SagaView;
  readonly archivedAt: Date;
}

/** Copies them; removing them is for whoever asked, in the same transaction. */
export async function archiveSagas(session: Session, ids: readonly string[]): Promise<void> {
  const { dialect } = session;
  const rows = await session.query(selectEnded(dialect, ids));
  const logs = new Map<string, Row[]>(rows.map((row) => [row["id"] as string, []]));
  for (const line of await session.query(selectLogs(dialect, ids)))
    logs.get(line["saga_id"] as string)?.push(line);
  const records = rows.map((row) => [
    row["id"],
    row["name"],
    row["status"],
    row["plan"],
    row["recovery_attempts"],
    JSON.stringify({ row, logs: logs.get(row["id"] as string) }),
    String(row["created_at"]),
    String(row["updated_at"]),
  ]);
  if (records.length > 0) await session.query(insertArchived(dialect, records));
}

/** The newest archived saga with this id. */
export async function readArchived(db: Database, id: string): Promise<ArchivedSaga | undefined> {
  const [found] = await persist(db, () => db.query(selectArchived(db.dialect, id)));
  if (!found) return undefined;
  const { row, logs } = JSON.parse(found["record"] as string) as { row: Row; logs: readonly Row[] };
  const view = viewOf(toRecord(row, logs.map(toLogEntry)));
  return { view, archivedAt: new Date(Number(found["archived_at"])) };
}
