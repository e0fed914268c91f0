/** Runs work in a savepoint of the caller's transaction: a failure rolls back to the savepoint. */
import type { Session } from "../../storage/database.ts";
import { releaseSavepoint, rollbackTo, savepoint } from "./session-queries.ts";

export async function inSavepoint<T>(session: Session, name: string, work: () => Promise<T>): Promise<T> {
  await session.query(savepoint(name));
  try {
    const result = await work();
    await session.query(releaseSavepoint(name));
    return result;
  } catch (error) {
    await takeBack(session, name);
    throw error;
  }
}

async function takeBack(session: Session, name: string): Promise<void> {
  try {
    await session.query(rollbackTo(name));
    await session.query(releaseSavepoint(name));
  } catch {
    // The database already rolled back the whole transaction (a lost connection, a full disk).
  }
}
