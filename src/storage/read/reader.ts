/** The reader interface: a database, an open transaction, or a database with retries. */
import type { Database, Session } from "../database.ts";
import { persist, type RetryLimits } from "../retry.ts";

export type Reader = Pick<Session, "dialect" | "query">;

/** Retries each statement after transient errors. */
export function retrying(db: Database, limits?: RetryLimits): Reader {
  return { dialect: db.dialect, query: (statement) => persist(db, () => db.query(statement), limits) };
}
