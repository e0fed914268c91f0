/** A database whose statements are overheard, and can be held back before they are sent. It is the real one in everything else. */
import type { Database, Session } from "../../../src/storage/database.ts";
import type { Sql } from "../../../src/storage/sql.ts";

export interface Overheard {
  readonly database: Database;
  /** The texts of all statements, in their order. */
  readonly texts: string[];
}

export function overheard(
  real: Database,
  around: (statement: Sql, send: () => Promise<readonly unknown[]>) => Promise<unknown> = (_, send) => send(),
): Overheard {
  const texts: string[] = [];
  const note = (statement: Sql): Sql => {
    texts.push(statement.text);
    return statement;
  };
  const noting = (session: Session): Session => ({
    dialect: session.dialect,
    query: (statement) => session.query(note(statement)),
  });
  const database: Database = {
    dialect: real.dialect,
    clock: real.clock,
    open: () => real.open(),
    query: (statement, limitMs) =>
      around(note(statement), () => real.query(statement, limitMs)) as ReturnType<Database["query"]>,
    batch: (statements, epoch) => real.batch(statements.map(note), epoch),
    transaction: (work) => real.transaction((session, tx) => work(noting(session), tx)),
    join: (tx) => real.join(tx),
    close: () => real.close(),
  };
  return { database, texts };
}
