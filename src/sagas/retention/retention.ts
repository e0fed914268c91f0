/** Removes ended sagas, with their logs and signals, and archives them before that if asked. */
import type { Row, Session } from "../../storage/database.ts";
import { deleteSignals } from "../journal/signal-queries.ts";
import { archiveSagas } from "./archive.ts";
import { deleteLogs, deleteSagas, selectExpired, selectStillExpired, type Expiry } from "./queries.ts";

export type { Expiry };

/** The longest ended first. */
export async function expiredSagas(
  session: Session,
  expiry: Expiry,
  limit: number,
): Promise<readonly string[]> {
  return idsOf(await session.query(selectExpired(session.dialect, expiry, limit)));
}

/** Removes those of these sagas that are still expired. Returns how many they were. */
export async function removeSagas(
  session: Session,
  found: readonly string[],
  expiry: Expiry,
  { archive }: { readonly archive: boolean },
): Promise<number> {
  const { dialect } = session;
  if (archive) {
    const still = idsOf(await session.query(selectStillExpired(dialect, found, expiry)));
    if (still.length > 0) await archiveSagas(session, still);
  }
  const ids = idsOf(await session.query(deleteSagas(dialect, found, expiry)));
  if (ids.length === 0) return 0;
  await session.query(deleteLogs(dialect, ids));
  await session.query(deleteSignals(dialect, ids));
  return ids.length;
}

function idsOf(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => row["id"] as string);
}
