/** The statements that check a caller's transaction. None of them has an effect that outlives the transaction. */
import { sql, type Sql } from "../sql.ts";

/**
 * Identifies the database: two servers may have databases of the same name, but different start times. The start time is
 * a number, because the text of an instant depends on the time zone of the session.
 */
export function placeOf(schema: string): Sql {
  return sql`select ${place(schema)}`;
}

/** The same, and marks the transaction: the setting ends with it. */
export function markTransaction(schema: string, mark: string): Sql {
  return sql`select ${place(schema)}, set_config('amends.transaction', ${mark}::text, true) as mark`;
}

export function readMark(): Sql {
  return sql`select current_setting('amends.transaction', true) as mark`;
}

function place(schema: string): Sql {
  const name = `${schema}.saga_executions`;
  return sql`current_database() || '/' || to_regclass(${name}::text)::oid || '/'
    || (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as place`;
}
