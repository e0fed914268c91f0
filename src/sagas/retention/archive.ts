/**
 * Ended sagas that were moved out of the way. Each is one row that holds the saga's row and its log as they were read,
 * so that the same code shows it as before.
 */
import type { Row, Session } from "../../storage/database.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { selectLogs } from "../journal/queries.ts";
import { toLogEntry, toRecord } from "../journal/rows.ts";
import { viewOf, type SagaView } from "../view/view.ts";
import {
  deleteArchived,
  insertArchived,
  selectArchived,
  selectEnded,
  selectForgotten,
  type EndedSaga,
} from "./archive-queries.ts";

/** A saga that retention has moved into the archive. */
export interface ArchivedSaga {
  /** The saga as it was when it was archived. */
  readonly view: SagaView;
  /** When the saga was archived, by the database's clock. */
  readonly archivedAt: Date;
}

/** Copies them. The caller removes them in the same transaction. */
export async function archiveSagas(session: Session, ids: readonly string[]): Promise<void> {
  const { dialect } = session;
  const rows = await session.query(selectEnded(dialect, ids));
  const logs = new Map<string, Row[]>(rows.map((row) => [row["id"] as string, []]));
  for (const line of await session.query(selectLogs(dialect, ids)))
    logs.get(line["saga_id"] as string)?.push(line);
  const sagas = rows.map((row) => ({ row, logs: logs.get(row["id"] as string) ?? [] }));
  if (sagas.length > 0) await session.query(insertArchived(dialect, sagas));
}

/** The newest archived saga with this id. */
export async function readArchived(reader: Reader, id: string): Promise<ArchivedSaga | undefined> {
  const [found] = await reader.query(selectArchived(reader.dialect, id));
  if (!found) return undefined;
  const { row, logs } = JSON.parse(found["record"] as string) as EndedSaga;
  // Nothing can be done to a saga that is no longer there.
  const view = { ...viewOf(toRecord(row, logs.map(toLogEntry))), actions: [] };
  return { view, archivedAt: new Date(Number(found["archived_at"])) };
}

/** Removes what was archived longer ago than this, the oldest first. Returns how many sagas that were. */
export async function forgetArchived(session: Session, afterMs: number, limit: number): Promise<number> {
  const { dialect } = session;
  const rows = await session.query(selectForgotten(dialect, afterMs, limit));
  const ids = rows.map((row) => row["id"] as string);
  if (ids.length > 0) await session.query(deleteArchived(dialect, ids, afterMs));
  return ids.length;
}
