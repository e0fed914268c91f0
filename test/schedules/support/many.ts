/** Very many schedules at once. */
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import { numbered } from "../../support/numbered.ts";
import { HOUR, NIGHT } from "./scene.ts";

/** Schedules of saga invoice that tick three hours after midnight. */
export async function insertMany(db: Database, count: number): Promise<void> {
  const { dialect } = db;
  const [now, tick] = [dialect.now(), dialect.instantOf(NIGHT + 3 * HOUR)];
  await db.query(sql`insert into ${dialect.table("schedules")} (name, cron, timezone, saga, version, lane, input, overlap,
      missed, jitter_ms, token, tick_at, next_at, created_at, updated_at)
    select 's-' || r.n, '0 3 * * *', 'UTC', 'invoice', 1, 'invoice@1', '{}', 'skip', 'one', 0, r.n, ${tick}, ${tick}, ${now}, ${now}
    from ${numbered(dialect, count)}`);
}
