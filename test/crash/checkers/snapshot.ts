/** Reads several tables as they are at one instant, while workers go on writing. */
import type { Database, Row } from "../../../src/storage/database.ts";
import { raw, type Sql } from "../../../src/storage/sql.ts";

/** On PostgreSQL each statement of a usual transaction sees what was committed before it: the reads would not fit together. */
const ONE_SNAPSHOT = raw("set transaction isolation level repeatable read");

export async function snapshot(
  db: Database,
  statements: readonly Sql[],
): Promise<readonly (readonly Row[])[]> {
  if (db.dialect.name === "sqlite") return db.batch(statements);
  return (await db.batch([ONE_SNAPSHOT, ...statements])).slice(1);
}
