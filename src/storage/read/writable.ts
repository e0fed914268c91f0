/** Whether the database accepts writes. Reads succeed on a standby, on a read-only database and on a file without write permission. */
import type { Database } from "../database.ts";
import { raw } from "../sql.ts";

/** Throws if the database does not answer. */
export async function isWritable(db: Database): Promise<boolean> {
  if (db.dialect.name === "postgres") {
    const [row] = await db.query(
      raw("select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as refuses"),
    );
    return row?.["refuses"] !== true;
  }
  try {
    // It begins with a write lock.
    await db.transaction(async () => undefined);
    return true;
  } catch (error) {
    if (db.dialect.trouble(error).code === "DATABASE_READ_ONLY") return false;
    throw error;
  }
}
