/** Beside a hundred thousand finished deliveries no statement reads them all, whatever the statistics say. */
import { expect, it } from "vitest";
import { surveyLanes } from "../../src/webhooks/orchestrator/queries.ts";
import { leaseJobs, renewJobs } from "../../src/webhooks/jobs/queries.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite, type Explainer, type Watch } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { failed, NOTE, World } from "./support/stage.ts";

const FINISHED = 100_000;
const OPEN = 500;

const WATCH: Watch = {
  // Lists that a page ends: by id, by time, or of open rows only.
  small:
    /dead_letters_open|dead_letters_subscription|webhook_subscriptions_disabled|webhook_delivery_sagas_pkey|webhook_delivery_sagas\b|\bs$/,
  tables: ["webhook_delivery_sagas", "webhook_jobs", "webhook_attempts", "webhook_events", "dead_letters"],
};

/** Finished deliveries, then statistics, then open ones: the moment at which statistics mislead most. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const isPostgres = dialect.name === "postgres";
  const table = (name: string): Sql => dialect.table(name);
  const now = dialect.now();
  const numbers = (count: number): Sql =>
    isPostgres
      ? sql`generate_series(1, ${raw(String(count))}) as g(n)`
      : sql`(with recursive g(n) as (select 1 union all select n + 1 from g where n < ${raw(String(count))}) select n from g) as g`;
  const uuid = raw(isPostgres ? "gen_random_uuid()" : "printf('%032x', id)");
  if (isPostgres)
    for (const name of WATCH.tables)
      await db.query(sql`alter table ${table(name)} set (autovacuum_enabled = false)`);
  const add = async (count: number, offset: number, status: Sql, due: Sql): Promise<void> => {
    await db.query(sql`insert into ${table("webhook_events")} (event_key, type, attributes, payload, created_at)
      select 'k' || (n + ${raw(String(offset))}), 'order.placed', '{}', '{}', ${now} from ${numbers(count)}`);
    await db.query(sql`insert into ${table("webhook_delivery_sagas")}
        (event_id, subscription_id, status, attempt_count, next_attempt_at, created_at, updated_at)
      select n + ${raw(String(offset))}, 1 + n % 100, ${status}, 1, ${due}, ${now}, ${now} from ${numbers(count)}`);
  };
  await add(FINISHED, 0, sql`case when n % 50 = 0 then 'DeadLettered' else 'Completed' end`, raw("null"));
  await db.query(sql`insert into ${table("webhook_jobs")} (saga_id, event_id, subscription_id, attempt, status, created_at, finished_at)
    select id, event_id, subscription_id, 1, 'Completed', ${now}, ${now} from ${table("webhook_delivery_sagas")}`);
  await db.query(sql`insert into ${table("webhook_attempts")}
      (report, job_id, saga_id, token, verdict, ok, code, duration_ms, created_at)
    select ${uuid}, id, id, 1, 'accepted', 1 = 1, 'http_200', 1, ${now} from ${table("webhook_delivery_sagas")}`);
  await db.query(sql`insert into ${table("dead_letters")} (saga_id, event_id, subscription_id, status, error_code, attempt_count, created_at)
    select id, event_id, subscription_id, 'Dismissed', 'x', 1, ${now} from ${table("webhook_delivery_sagas")} where status = 'DeadLettered'`);
  await db.query(raw("analyze"));
  await add(OPEN, FINISHED, sql`case when n % 2 = 0 then 'PendingRetry' else 'Pending' end`, now);
}

/** Everything that delivery, its operators and retention say to a database. */
async function statementsOf(database: TestDatabase, db: Database): Promise<readonly Sql[]> {
  const { database: watched, statements } = recorded(db);
  const world = new World();
  const amends = await database.amends({
    database: watched,
    webhooks: { sender: world, maxAttempts: 2, backoff: { base: "1ms", cap: "1ms" } },
  });
  const { webhooks } = amends;
  const first = await webhooks.subscribe({ url: "https://first.example", events: ["*"] });
  for (let n = 2; n <= 100; n++)
    await webhooks.subscribe({
      url: `https://${n}.example`,
      events: ["never"],
      ordered: n % 10 === 0,
      ...(n % 7 === 0 && { rate: { max: 100, per: "1s" } }),
    });
  world.answer = ({ url }) => (url.includes("first") ? failed() : {});
  await db.transaction((_, tx) =>
    webhooks.publish(tx, { type: "order.placed", data: {}, attributes: { a: "b" } }),
  );
  const worker = amends.worker();
  const open = async (): Promise<number> =>
    (await webhooks.deliveries({ status: "PendingRetry" })).length +
    (await webhooks.deliveries({ status: "Pending" })).length;
  while ((await worker.runOnce()) > 0 || (await open()) > 0);
  const [letter] = await webhooks.deadLetters({ limit: 10 });
  await webhooks.deadLetters({ subscriptionId: first.id });
  await webhooks.resend(letter?.deliveryId as string, NOTE);
  await webhooks.resend(letter?.deliveryId as string, NOTE);
  const [arrived] = await webhooks.deliveries({ status: "Completed", limit: 1 });
  await webhooks.resend(arrived?.id as string, NOTE);
  await webhooks.deliveries({ subscriptionId: first.id, limit: 5 });
  await webhooks.deliveries({ limit: 5, after: "50" });
  await webhooks.deliveries({ eventId: "k7" });
  await webhooks.attempts(arrived?.id as string);
  await webhooks.resendSince(first.id, { since: new Date(Date.now() + 60_000) }, NOTE);
  await webhooks.ping(first.id);
  await amends.attention.list();
  await webhooks.prune({ olderThan: "300d" });
  const holds = Array.from({ length: 100 }, (_, n) => ({ id: String(n + 1), token: 1 }));
  return [
    ...statements(),
    surveyLanes(db.dialect, "5", 100),
    renewJobs(db.dialect, holds, 1_000),
    leaseJobs(db.dialect, 50, 1_000, "owner"),
  ];
}

async function scansOf(statements: readonly Sql[], explainer: Explainer): Promise<readonly string[]> {
  const found: string[] = [];
  for (const statement of statements) {
    const isOurs =
      /webhook_|dead_letters/.test(statement.sql) &&
      /^\s*(select|insert|update|with|delete)/i.test(statement.sql);
    if (!isOurs) continue;
    for (const scan of await explainer.scans(statement))
      found.push(`${scan}: ${statement.sql.replaceAll(/\s+/g, " ")}`);
  }
  await explainer.end();
  return found;
}

onDatabase("sqlite", (database) => {
  it("[W-14] indexes serve every statement of delivery", { timeout: 120_000 }, async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(40);
    expect(await scansOf(statements, explainSqlite(db, WATCH))).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it("[W-14] indexes serve every statement of delivery", { timeout: 120_000 }, async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(40);
    const url = await database.place();
    expect(await scansOf(statements, await explainPostgres(url, "generic", WATCH))).toEqual([]);
    expect(await scansOf(statements, await explainPostgres(url, "custom", WATCH))).toEqual([]);
  });
});
