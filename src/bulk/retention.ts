/** Removes bulk actions that ended long ago. The records of their items stay: no policy removes what operators did. */
import type { Session } from "../storage/database.ts";
import { removeEnded } from "./queries.ts";

export async function removeBulks(session: Session, afterMs: number, limit: number): Promise<number> {
  return (await session.query(removeEnded(session.dialect, afterMs, limit))).length;
}
