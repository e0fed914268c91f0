/** All of it or none of it, inside a transaction that is the caller's: what fails half-way is taken back. */
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
    // The whole transaction is gone (a lost connection, a full disk): nothing of it is left to take back.
  }
}
