/** Reads and writes the rows of one saga inside an open transaction, for the storage and for its runs. */
import { AmendsError, SagaConcurrencyError } from "../core/errors.ts";
import { insertContractSaga, updateContractSaga } from "../sagas/journal/contract-queries.ts";
import { insertLines } from "../sagas/journal/line-queries.ts";
import { selectLogs, selectSaga } from "../sagas/journal/queries.ts";
import type { Session } from "../storage/database.ts";
import { PendingSaga } from "./pending-saga.ts";

/** Locks the row of the saga. The result has no history: it is for a change. */
export async function lockSaga(session: Session, id: string): Promise<PendingSaga> {
  const [row] = await session.query(selectSaga(session.dialect, id, true));
  if (!row) throw notFound(id);
  return PendingSaga.of(row);
}

/** The saga with its history; undefined if it does not exist. The history is read after the row is locked. */
export async function readSaga(
  session: Session,
  id: string,
  lock: boolean,
): Promise<PendingSaga | undefined> {
  const [row] = await session.query(selectSaga(session.dialect, id, lock));
  return row && PendingSaga.of(row, await session.query(selectLogs(session.dialect, [id])));
}

/** Every run of every process writes rows in this order, which avoids deadlocks. */
export async function saveAll(session: Session, pending: readonly PendingSaga[]): Promise<void> {
  for (const saga of pending.toSorted((a, b) => (a.id < b.id ? -1 : 1))) await save(session, saga);
}

export async function save(session: Session, saga: PendingSaga): Promise<void> {
  const { id, base, added } = saga;
  const isNew = base === 0;
  const statement = isNew ? insertContractSaga : updateContractSaga;
  const [written] = await session.query(statement(session.dialect, saga));
  if (!written && isNew)
    throw new AmendsError("SAGA_CONFLICT", "A saga with this id exists already.", { id });
  if (!written) {
    const [row] = await session.query(selectSaga(session.dialect, id, false));
    if (!row) throw notFound(id);
    throw new SagaConcurrencyError(id, base, Number(row["version"]));
  }
  if (added.length === 0) return;
  const lines = added.map((entry) => ({ sagaId: id, version: entry.id, token: 0, entry }));
  await session.query(insertLines(session.dialect, lines));
}

export function notFound(id: string): AmendsError {
  return new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
}

export function inDoubt(cause: unknown): AmendsError {
  return new AmendsError(
    "DATABASE_UNREACHABLE",
    "The connection was lost during the commit, so the change may or may not have been written. Load the saga and check.",
    {},
    { cause },
  );
}
