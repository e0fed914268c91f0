/** A database that remembers every statement that goes through it. */
import type { Database, Session } from "../../src/storage/database.ts";
import type { Sql } from "../../src/storage/sql.ts";

export interface Recorded {
  readonly database: Database;
  /** One of each text, in the order of their first use. */
  statements(): readonly Sql[];
}

export function recorded(db: Database): Recorded {
  const seen = new Map<string, Sql>();
  const note = (statement: Sql): Sql => {
    if (!seen.has(statement.sql)) seen.set(statement.sql, statement);
    return statement;
  };
  const noting = (session: Session): Session => ({
    dialect: session.dialect,
    query: (statement) => session.query(note(statement)),
  });
  const database: Database = {
    dialect: db.dialect,
    clock: db.clock,
    open: () => db.open(),
    query: (statement) => db.query(note(statement)),
    batch: (statements) => db.batch(statements.map(note)),
    transaction: (work) => db.transaction((session, tx) => work(noting(session), tx)),
    join: (tx) => {
      const joined = db.join(tx);
      return { ...noting(joined), alone: (work) => joined.alone((session) => work(noting(session))) };
    },
    close: () => db.close(),
  };
  return { database, statements: () => [...seen.values()] };
}
