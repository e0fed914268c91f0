/**
 * Removes deliveries and events that ended long ago, in bounded batches, each in a separate transaction. Open
 * deliveries stay, and so do open dead letters: they still need a person.
 */
import type { Row, Session } from "../storage/database.ts";
import { deleteDeliveries, deleteEvents, selectEnded, selectUnowed } from "./retention-queries.ts";

/** The result of `prune`. */
export interface Pruned {
  /** The number of removed deliveries. */
  readonly deliveries: number;
  /** The number of removed events. */
  readonly events: number;
}

/** `batchesMax` bounds the duration; the next call removes the rest. Each batch is one transaction. */
export async function prune(
  transact: (work: (session: Session) => Promise<number>) => Promise<number>,
  olderThanMs: number,
  batchesMax: number,
  batch: number = 500,
): Promise<Pruned> {
  const repeat = async (work: (session: Session) => Promise<number>): Promise<number> => {
    let total = 0;
    for (let done = 0; done < batchesMax; done++) {
      const count = await transact(work);
      total += count;
      if (count < batch) break;
    }
    return total;
  };
  const deliveries = await repeat((session) => pruneDeliveries(session, olderThanMs, batch));
  const events = await repeat((session) => pruneEvents(session, olderThanMs, batch));
  return { deliveries, events };
}

async function pruneDeliveries(session: Session, olderThanMs: number, batch: number): Promise<number> {
  const { dialect } = session;
  const ids = idsOf(await session.query(selectEnded(dialect, olderThanMs, batch)));
  if (ids.length === 0) return 0;
  for (const statement of deleteDeliveries(dialect, ids)) await session.query(statement);
  return ids.length;
}

/** An event is removed once all its deliveries are removed. */
async function pruneEvents(session: Session, olderThanMs: number, batch: number): Promise<number> {
  const { dialect } = session;
  const ids = idsOf(await session.query(selectUnowed(dialect, olderThanMs, batch)));
  if (ids.length > 0) await session.query(deleteEvents(dialect, ids));
  return ids.length;
}

function idsOf(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => String(row["id"]));
}
