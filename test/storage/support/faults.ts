/**
 * A database in which the n-th operation fails, in every way in which a database can: before anything was sent, or
 * after the commit, when only the answer was lost. The decorated database is real.
 */
import type { Database, Row, Session } from "../../../src/storage/database.ts";
import type { Sql } from "../../../src/storage/sql.ts";

export type When = "before" | "after";

export interface Faults {
  readonly db: Database;
  /** Operations so far: statements, batches, and statements inside transactions. */
  count(): number;
  /** From now on, fails the operation with this number, and so many after it. */
  plan(number: number, times: number, when: When, error: () => Error): void;
  /** How often it has failed. */
  fired(): number;
}

export function faulty(real: Database): Faults {
  let operations = 0;
  let fired = 0;
  let first = Infinity;
  let last = -1;
  let when: When = "before";
  let make: () => Error = () => new Error("unplanned");

  const trip = async <T>(work: () => Promise<T>): Promise<T> => {
    const number = ++operations;
    const fails = number >= first && number <= last;
    if (fails && when === "before") {
      fired++;
      throw make();
    }
    const result = await work();
    if (!fails) return result;
    fired++;
    throw make();
  };

  const inside = (session: Session): Session => ({
    dialect: session.dialect,
    // Inside a transaction nothing is committed yet: there, only the statement itself can fail.
    query: (statement: Sql): Promise<readonly Row[]> =>
      when === "before" ? trip(() => session.query(statement)) : session.query(statement),
  });

  const db: Database = {
    dialect: real.dialect,
    clock: real.clock,
    open: () => real.open(),
    close: () => real.close(),
    join: (tx) => real.join(tx),
    query: (statement) => trip(() => real.query(statement)),
    batch: (statements) => trip(() => real.batch(statements)),
    transaction: (work, foreign) =>
      trip(() => real.transaction((session, tx) => work(inside(session), tx), foreign)),
  };
  return {
    db,
    count: () => operations,
    fired: () => fired,
    plan(number, times, at, error) {
      first = operations + number;
      last = first + times - 1;
      when = at;
      make = error;
    },
  };
}

export function withCode(code: string): () => Error {
  return () => Object.assign(new Error("injected"), { code });
}
