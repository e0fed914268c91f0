/**
 * Beside a hundred thousand finished deliveries no statement reads them all, whatever the statistics say. Of each hot
 * statement it is said by which indexes it is served.
 */
import { expect, it } from "vitest";
import type { JobReport } from "../../src/core/delivery/job.ts";
import { insertLetters } from "../../src/webhooks/dead-letters/queries.ts";
import { insertAttempts, selectPayloads, selectTargets } from "../../src/webhooks/deliver/attempt-queries.ts";
import {
  applyOutcomes,
  dueBehind,
  dueInLanes,
  dueInOrder,
  exhaustWaiting,
  selectDue,
  startAttempts,
  untilDue,
} from "../../src/webhooks/deliver/delivery-queries.ts";
import {
  clearResults,
  createJobs,
  leaseJobs,
  releaseJob,
  renewJobs,
  selectResults,
  settleJobs,
} from "../../src/webhooks/deliver/job-queries.ts";
import { noteFailures, noteSuccesses, surveyLanes } from "../../src/webhooks/deliver/lane-queries.ts";
import { insertEvent, routeEvent } from "../../src/webhooks/publish/queries.ts";
import type { Dialect } from "../../src/storage/database.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite, type Explainer, type Watch } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { failed, NOTE, World } from "./support/stage.ts";

const FINISHED = 100_000;
const OPEN = 500;

const TERMS = { owner: "owner", leaseMs: 1_000 };
const REPORTS: readonly JobReport[] = Array.from({ length: 50 }, (_, n) => ({
  report: `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`,
  job: {
    id: String(n + 1),
    token: 1,
    deliveryId: String(n + 1),
    eventId: String(n + 1),
    subscriptionId: String(1 + (n % 100)),
    attempt: 1,
    leases: 1,
  },
  result: { ok: n % 2 === 0, code: "http_200" },
  attemptMax: 3,
  wasSent: true,
  attempt: { url: "u", sentAtMs: 1, status: 200, durationMs: 1, responseHeaders: null, responseBody: null },
}));
const IDS = REPORTS.map(({ job }) => job.id);
const MOVES = IDS.map((deliveryId) => ({ deliveryId, attemptCount: 0, attemptMax: 3 }));
const ROOMS = ["1", "2", "3"].map((subscriptionId) => ({ subscriptionId, room: 4 }));

/** What every delivery costs, again and again, and the indexes that serve it: on PostgreSQL, and on SQLite. */
const HOT: Readonly<
  Record<
    string,
    {
      statements(dialect: Dialect): readonly Sql[];
      readonly postgres: readonly string[];
      readonly sqlite: readonly string[];
    }
  >
> = {
  publish: {
    statements: (dialect) => [
      insertEvent(dialect, { key: "k", type: "t", attributes: {}, payload: "{}" }, undefined),
      routeEvent(dialect, "1", ["order.placed", "*"], ["a=b"]),
    ],
    postgres: [],
    sqlite: ["primary key"],
  },
  "look for what is due": {
    statements: (dialect) => [selectDue(dialect, ["deliveries", "jobs", "results"])],
    postgres: ["idx_saga_status_retry", "webhook_jobs_due", "webhook_jobs_result"],
    sqlite: ["idx_saga_status_retry", "primary key", "webhook_jobs_due", "webhook_jobs_result"],
  },
  "a worker's look": {
    statements: (dialect) => [sql`select ${untilDue(dialect, ["deliveries", "jobs", "results"])}`],
    postgres: ["idx_saga_status_retry", "webhook_jobs_due", "webhook_jobs_result"],
    sqlite: ["idx_saga_status_retry", "primary key", "webhook_jobs_due", "webhook_jobs_result"],
  },
  "survey of the lanes": {
    statements: (dialect) => [surveyLanes(dialect, "5", 100)],
    postgres: ["idx_saga_order", "webhook_jobs_lane"],
    sqlite: ["idx_saga_order", "primary key", "webhook_jobs_lane"],
  },
  "due in the lanes": {
    statements: (dialect) => [dueInLanes(dialect, ROOMS, 256)],
    postgres: ["idx_saga_lane", "webhook_jobs_attempt"],
    sqlite: ["idx_saga_lane", "primary key", "webhook_jobs_attempt"],
  },
  "due in order": {
    statements: (dialect) => [dueInOrder(dialect, ROOMS)],
    postgres: ["idx_saga_order", "webhook_delivery_sagas_pkey", "webhook_jobs_attempt"],
    sqlite: ["idx_saga_order", "primary key", "webhook_jobs_attempt"],
  },
  "creation of jobs": {
    statements: (dialect) => createJobs(dialect, startAttempts(dialect, MOVES), TERMS),
    postgres: ["webhook_delivery_sagas_pkey"],
    sqlite: ["primary key"],
  },
  "end of what waits": {
    statements: (dialect) => [exhaustWaiting(dialect, MOVES)],
    postgres: ["webhook_delivery_sagas_pkey"],
    sqlite: ["primary key"],
  },
  "lease of jobs": {
    statements: (dialect) => [leaseJobs(dialect, 50, TERMS)],
    postgres: ["webhook_jobs_due", "webhook_jobs_pkey"],
    sqlite: ["primary key", "webhook_jobs_due"],
  },
  "renewal of leases": {
    statements: (dialect) => [
      renewJobs(
        dialect,
        REPORTS.map(({ job }) => job),
        1_000,
      ),
    ],
    postgres: ["webhook_jobs_pkey"],
    sqlite: ["primary key"],
  },
  "what is sent where": {
    statements: (dialect) => [selectTargets(dialect, IDS), selectPayloads(dialect, IDS)],
    postgres: ["webhook_events_pkey", "webhook_jobs_pkey"],
    sqlite: ["primary key"],
  },
  "release of a lease": {
    statements: (dialect) => [releaseJob(dialect, { id: "1", token: 1 })],
    postgres: ["webhook_jobs_pkey"],
    sqlite: ["primary key"],
  },
  "end of jobs": {
    statements: (dialect) => [settleJobs(dialect, REPORTS, false), settleJobs(dialect, REPORTS, true)],
    postgres: ["webhook_jobs_pkey"],
    sqlite: ["primary key"],
  },
  "health of lanes": {
    statements: (dialect) => [
      noteFailures(dialect, REPORTS, { afterMs: 1, failures: 1 }),
      noteSuccesses(dialect, REPORTS),
    ],
    postgres: ["webhook_delivery_sagas_pkey", "webhook_jobs_pkey"],
    sqlite: ["primary key"],
  },
  "results that are applied": {
    statements: (dialect) => [
      applyOutcomes(
        dialect,
        REPORTS.map(({ job, report }) => ({
          jobId: job.id,
          report,
          to: "Completed",
          error: null,
          attemptMax: 3,
          waitMs: null,
        })),
      ),
    ],
    postgres: ["webhook_delivery_sagas_pkey", "webhook_jobs_pkey"],
    sqlite: ["primary key"],
  },
  "more behind a result": {
    statements: (dialect) => [dueBehind(dialect, ["1", "2"])],
    postgres: ["idx_saga_lane"],
    sqlite: ["idx_saga_lane"],
  },
  "dead letters": {
    statements: (dialect) => [insertLetters(dialect, IDS)],
    postgres: ["webhook_delivery_sagas_pkey"],
    sqlite: ["primary key"],
  },
  attempts: {
    statements: (dialect) => [insertAttempts(dialect, REPORTS)],
    postgres: ["webhook_jobs_pkey"],
    sqlite: ["primary key"],
  },
  "results that wait": {
    statements: (dialect) => [selectResults(dialect, 3, 50), clearResults(dialect, REPORTS)],
    postgres: ["webhook_delivery_sagas_pkey", "webhook_jobs_result"],
    sqlite: ["primary key", "webhook_jobs_result"],
  },
};

async function indexesOf(dialect: Dialect, explainer: Explainer): Promise<Record<string, readonly string[]>> {
  const found: Record<string, readonly string[]> = {};
  for (const [name, { statements }] of Object.entries(HOT)) {
    const indexes = new Set<string>();
    for (const statement of statements(dialect))
      for (const index of await explainer.indexes(statement)) indexes.add(index);
    found[name] = [...indexes].toSorted();
  }
  return found;
}

function expectedOn(database: "postgres" | "sqlite"): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(HOT).map(([name, of]) => [name, of[database]]));
}

const WATCH: Watch = {
  // Lists that a page ends, by time or of open rows only; and indexes of what waits to be done, which are nearly empty.
  small:
    /dead_letters_open|dead_letters_subscription|webhook_subscriptions_disabled|webhook_delivery_sagas_pkey|webhook_jobs_result|webhook_lanes_to_disable/,
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
    webhooks: { sender: world, retry: { attempts: 2, base: "1ms", cap: "1ms" } },
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
    webhooks.publish({ type: "order.placed", data: {}, attributes: { a: "b" } }, { tx }),
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
    leaseJobs(db.dialect, 50, { leaseMs: 1_000, owner: "owner" }),
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
  return found;
}

onDatabase("sqlite", (database) => {
  it("[W-14] indexes serve every statement of delivery", { timeout: 120_000 }, async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(40);
    const explainer = explainSqlite(db, WATCH);
    expect(await scansOf(statements, explainer)).toEqual([]);
    expect(await indexesOf(db.dialect, explainer)).toEqual(expectedOn("sqlite"));
  });
});

onDatabase("postgres", (database) => {
  it("[W-14] indexes serve every statement of delivery", { timeout: 120_000 }, async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(40);
    const url = await database.place();
    for (const mode of ["generic", "custom"] as const) {
      const explainer = await explainPostgres(url, mode, WATCH);
      const [scans, indexes] = [await scansOf(statements, explainer), await indexesOf(db.dialect, explainer)];
      await explainer.end();
      expect([mode, scans]).toEqual([mode, []]);
      expect([mode, indexes]).toEqual([mode, expectedOn("postgres")]);
    }
  });
});
