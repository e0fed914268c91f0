/**
 * Lets several parts write in one transaction and one round trip. Each asks the session as it would ask any other; what
 * all of them have asked for by the time that they begin to wait is sent as one batch. So nobody may wait for rows before
 * it asks for more.
 */
import type { Database, Row, Session } from "./database.ts";
import type { Sql } from "./sql.ts";

interface Asked {
  readonly statement: Sql;
  resolve(rows: readonly Row[]): void;
  reject(error: unknown): void;
}

export async function gather<T>(
  db: Pick<Database, "dialect" | "batch">,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const asked: Asked[] = [];
  let isSent = false;
  const session: Session = {
    dialect: db.dialect,
    query: (statement) =>
      new Promise((resolve, reject) => {
        if (isSent) reject(new Error("amends: a statement came after its batch was sent"));
        else asked.push({ statement, resolve, reject });
      }),
  };
  const result = work(session);
  isSent = true;
  if (asked.length === 0) return result;
  // Whoever asked is told of a failure as well: the one that matters is thrown here.
  result.catch(() => undefined);
  try {
    const rows = await db.batch(asked.map(({ statement }) => statement));
    asked.forEach((one, index) => one.resolve(rows[index] ?? []));
  } catch (error) {
    for (const one of asked) one.reject(error);
    throw error;
  }
  return result;
}
