/**
 * Database work that is written once and runs in either kind of a caller's transaction, asynchronous or synchronous: it
 * yields its statements and receives their rows.
 */
import type { Row, Session, SyncSession } from "../database.ts";
import type { Sql } from "../sql.ts";

export type Work<T> = Generator<Sql, T, readonly Row[]>;

export async function perform<T>(session: Pick<Session, "query">, work: Work<T>): Promise<T> {
  let step = work.next();
  while (step.done !== true) step = work.next(await session.query(step.value));
  return step.value;
}

export function performNow<T>(session: Pick<SyncSession, "query">, work: Work<T>): T {
  let step = work.next();
  while (step.done !== true) step = work.next(session.query(step.value));
  return step.value;
}
