/** What a read needs: a database, an open transaction, or a database whose passing trouble is waited out. */
import type { Database, Session } from "../database.ts";
import { persist, type RetryLimits } from "../retry.ts";

export type Reader = Pick<Session, "dialect" | "query">;

/** Each statement is tried again after trouble that passes. */
export function retrying(db: Database, limits?: RetryLimits): Reader {
  return { dialect: db.dialect, query: (statement) => persist(db, () => db.query(statement), limits) };
}
