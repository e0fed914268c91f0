/**
 * Database work that is written once and runs in either kind of a caller's transaction, asynchronous or synchronous: it
 * yields its statements and receives their rows. The error of a statement is thrown inside the work, which may catch it.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Row, Session, SyncSession } from "../database.ts";
import type { Sql } from "../sql.ts";

export type Work<T> = Generator<Sql | ForeignCall, T, readonly Row[]>;

/** A call of application code that writes with the session itself, such as an audit sink. */
export interface ForeignCall {
  /** The subject of an error message: "The audit sink". */
  readonly name: string;
  call(session: Session): Promise<void>;
  /** The same call as work, for a synchronous transaction. Undefined if the call must be awaited. */
  readonly work?: (() => Work<void>) | undefined;
}

export async function perform<T>(session: Session, work: Work<T>): Promise<T> {
  let step = work.next();
  while (step.done !== true) {
    let rows: readonly Row[];
    try {
      rows = await answer(session, step.value);
    } catch (error) {
      step = work.throw(error);
      continue;
    }
    step = work.next(rows);
  }
  return step.value;
}

async function answer(session: Session, asked: Sql | ForeignCall): Promise<readonly Row[]> {
  if (!isCall(asked)) return session.query(asked);
  await asked.call(session);
  return [];
}

export function performNow<T>(session: SyncSession, work: Work<T>): T {
  let step = work.next();
  while (step.done !== true) {
    let rows: readonly Row[];
    try {
      rows = answerNow(session, step.value);
    } catch (error) {
      step = work.throw(error);
      continue;
    }
    step = work.next(rows);
  }
  return step.value;
}

function answerNow(session: SyncSession, asked: Sql | ForeignCall): readonly Row[] {
  if (!isCall(asked)) return session.query(asked);
  if (!asked.work) {
    throw new AmendsError(
      "NOT_SUPPORTED",
      `${asked.name} is asynchronous, and a synchronous transaction cannot wait for it. Use the operation without \`sync\`, in a transaction that you begin by hand. Nothing was written.`,
    );
  }
  performNow(session, asked.work());
  return [];
}

function isCall(asked: Sql | ForeignCall): asked is ForeignCall {
  return "call" in asked;
}
