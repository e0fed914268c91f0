/** Among very many items, no statement of a bulk action reads a table from end to end. */
import type { BulkItems } from "amends/bulk";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onEachDatabase } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";

const ENDED = 20_000;
const OPEN = 200;

const TABLES = ["bulk_actions", "operator_actions", "saga_executions", "outbox", "dead_letters"];
const WATCH = { small: /^$/, tables: TABLES };

/** What has ended, then statistics, then what is open: the moment at which statistics mislead most. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const at = dialect.plusMs(dialect.now(), sql`(0 - r.n * 100)`);
  const add = async (count: number, isOpen: boolean): Promise<void> => {
    const [prefix, rows] = [isOpen ? "open" : "ended", numbered(dialect, count)];
    await db.query(sql`insert into ${dialect.table("saga_executions")} (id, name, kind, status, context, plan, error_label, next_attempt_at, created_at, updated_at)
      select ${prefix} || r.n, 'order', 'order@1#', ${isOpen ? "STALLED" : "COMPLETED"}, '{"input":{}}', 'one', ${isOpen ? "RangeError" : null}, ${at}, ${at}, ${at} from ${rows}`);
    await db.query(sql`insert into ${dialect.table("outbox")} (entry_id, kind, name, lane, status, attempts, last_error, enqueued_at)
      select r.id, 'call', 'mail', 'mail', ${isOpen ? "abandoned" : "succeeded"}, 1, 'TypeError', ${at} from ${rows}`);
    await db.query(sql`insert into ${dialect.table("dead_letters")} (saga_id, event_id, subscription_id, status, error_code, attempt_count, created_at)
      select r.n + ${isOpen ? 1_000_000 : 0}, 1, 1, ${isOpen ? "Open" : "Dismissed"}, 'http_500', 1, ${at} from ${rows}`);
    await db.query(sql`insert into ${dialect.table("operator_actions")} (id, outcome, at, done_by, action, target_kind, target_id, reason)
      select ${prefix} || r.n, 'asked', ${at}, 'ann', 'retry', 'saga', ${prefix} || r.n, 'a test' from ${rows}`);
    if (!isOpen)
      await db.query(sql`insert into ${dialect.table("bulk_actions")} (id, action, kind, request, reason, status, total, is_exact, created_at, updated_at, ended_at)
        select ${prefix} || r.n, 'retry', 'saga', '{}', 'a test', 'completed', 1, true, ${at}, ${at}, ${at} from ${rows}`);
  };
  if (dialect.name === "postgres")
    for (const table of TABLES)
      await db.query(sql`alter table ${dialect.table(table)} set (autovacuum_enabled = false)`);
  await add(ENDED, false);
  await db.query(raw("analyze"));
  await add(OPEN, true);
}

const REQUESTS: readonly BulkItems[] = [
  { action: "retry", status: "STALLED" },
  { action: "resolve", saga: "order", error: "RangeError", as: "FAILED" },
  { action: "requeue", status: "abandoned" },
  { action: "requeue", name: "mail", error: "TypeError", since: new Date(0) },
  { action: "resend", status: "DeadLettered" },
  { action: "cancel", ids: ["open1", "open2"] },
];

/** What a statement made itself, and walks over; and the indexes of what is open, in their order and up to a limit. */
const OWN =
  /^SCAN (?:s|k|u|r|pick_0|picked|names|first|listed|walk|counted|hits|last|CONSTANT ROW|json_each.*)$|saga_executions_stalled$|outbox_abandoned$|dead_letters_open$|bulk_actions_created$/;

onEachDatabase((database) => {
  it("[S-43][W-14] indexes serve every statement of bulk actions, among thousands of items and of actions", async () => {
    const db = await database.open();
    await fill(db);
    const { database: watched, statements } = recorded(db);
    const amends = await database.amends({ database: watched, retention: { bulk: "1d" } });
    for (const items of REQUESTS) {
      await amends.bulk.preview(items);
      const { id } = await amends.bulk.start({ ...items, reason: "a test" });
      await amends.worker({ only: ["bulk"] }).runOnce();
      expect(await amends.bulk.get(id)).toMatchObject({ status: "completed" });
    }
    const page = await amends.bulk.list({ limit: 2 });
    await amends.bulk.list({ limit: 2, after: page.next as string });
    await amends.retention.runOnce();
    const ours = statements().filter(({ sql: text }) => TABLES.some((table) => text.includes(table)));
    expect(ours.length).toBeGreaterThan(20);
    const explainer =
      database.name === "sqlite"
        ? explainSqlite(db, WATCH)
        : await explainPostgres(await database.place(), "generic", WATCH);
    const scans: string[] = [];
    for (const statement of ours)
      for (const scan of await explainer.scans(statement))
        if (!OWN.test(scan)) scans.push(`${scan}: ${statement.sql.replaceAll(/\s+/g, " ")}`);
    await explainer.end();
    expect(scans).toEqual([]);
  }, 120_000);
});
