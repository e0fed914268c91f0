/** Among very many sagas that have ended, nothing that the console asks reads them all. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite, type Explainer } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";
import { orders } from "./support/shop.ts";
import { PAGE, program, TOKENS, visit } from "./support/visit.ts";

const ENDED = 20_000;
const OPEN = 300;

const TABLES = [
  "saga_archive",
  "saga_executions",
  "saga_logs",
  "saga_state",
  "outbox",
  "webhook_delivery_sagas",
  "operator_actions",
  "schedules",
  "schedule_ticks",
];

/** Ended sagas, then statistics, then open ones: the moment at which statistics mislead most. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const table = dialect.table("saga_executions");
  const add = async (count: number, prefix: string, status: Sql): Promise<void> => {
    const numbers = numbered(dialect, count);
    const at = dialect.plusMs(dialect.now(), sql`(0 - r.n * 100)`);
    await db.query(sql`insert into ${table} (id, name, kind, status, context, plan, version, token, next_attempt_at, created_at, updated_at)
      select ${prefix} || r.n, 'saga-' || (r.n % 7), 'saga-' || (r.n % 7) || '@1#', ${status}, '{"input":{}}', 'one~ two', 3, 1, ${at}, ${at}, ${at} from ${numbers}`);
  };
  if (dialect.name === "postgres") await db.query(sql`alter table ${table} set (autovacuum_enabled = false)`);
  await fillParts(db, ENDED, "ended");
  await add(ENDED, "ended-", sql`case r.n % 100 when 0 then 'FAILED' else 'COMPLETED' end`);
  await db.query(raw("analyze"));
  await fillParts(db, OPEN, "open");
  await add(OPEN, "open-", sql`case r.n % 3 when 0 then 'PENDING' when 1 then 'RUNNING' else 'STALLED' end`);
}

/** The same of runs of event flows, of the outbox and of deliveries. */
async function fillParts(db: Database, count: number, which: "ended" | "open"): Promise<void> {
  const { dialect } = db;
  const numbers = numbered(dialect, count);
  const at = dialect.plusMs(dialect.now(), sql`(0 - r.n * 100)`);
  const state = (ended: string, open: string): Sql => raw(which === "ended" ? ended : open);
  const [flows, outbox, sent] = ["saga_state", "outbox", "webhook_delivery_sagas"].map((name) =>
    dialect.table(name),
  );
  if (dialect.name === "postgres") {
    for (const table of [flows, outbox, sent])
      await db.query(sql`alter table ${table} set (autovacuum_enabled = false)`);
  }
  await db.query(sql`insert into ${flows} (saga_id, saga_type, process_id, status, trigger_id, trail, started_at, updated_at)
    select ${which} || r.n, 'flow-' || (r.n % 7), ${which} || r.n,
      ${state("case r.n % 100 when 0 then 'failed' else 'completed' end", "case r.n % 3 when 0 then 'stalled' else 'running' end")},
      r.id, cast(r.id as text), ${at}, ${at} from ${numbers}`);
  await db.query(sql`insert into ${outbox} (entry_id, kind, lane, name, event_id, event_version, handler, correlation, payload, status, attempts, enqueued_at)
    select r.id, 'delivery', 'H@1', 'E', r.id, 1, 'H', 'c-' || r.n, '{}',
      ${state("'succeeded'", "case r.n % 3 when 0 then 'abandoned' else 'pending' end")}, 1, ${at} from ${numbers}`);
  const [schedules, ticks] = ["schedules", "schedule_ticks"].map((name) => dialect.table(name));
  await db.query(sql`insert into ${schedules} (name, cron, timezone, saga, version, lane, input, overlap, missed, jitter_ms,
      token, ticks, tick_at, next_at, paused_at, pause_reason, created_at, updated_at)
    select ${which} || r.n, '0 3 * * *', 'UTC', 'saga-1', 1, 'saga-1@1', '{}', 'skip', 'one', 0, r.n, 1,
      case when r.n % 100 = 0 then null else ${at} end, case when r.n % 100 = 0 then null else ${at} end,
      case when r.n % 100 = 0 then ${at} end, '', ${at}, ${at} from ${numbers}`);
  await db.query(sql`insert into ${ticks} (schedule, slot, number, at, until, outcome, saga_id)
    select ${which} || r.n, 0, 0, ${at}, ${at}, 'started', 'ended-' || r.n from ${numbers}`);
  const [event, subscription] = which === "ended" ? [0, 0] : [count * 1_000, 1];
  await db.query(sql`insert into ${sent} (event_id, subscription_id, status, created_at, updated_at)
    select ${event} + r.n, ${subscription} + r.n % 5,
      ${state("case r.n % 100 when 0 then 'DeadLettered' else 'Completed' end", "case r.n % 3 when 0 then 'PendingRetry' else 'Pending' end")},
      ${at}, ${at} from ${numbers}`);
}

/** Every read of the console, with every filter. */
async function statementsOf(database: TestDatabase, db: Database): Promise<readonly Sql[]> {
  const { database: watched, statements } = recorded(db);
  const amends = await database.amends({ database: watched, sagas: [orders()] });
  const { as, ask, console } = visit(amends);
  const signedIn = await ask("/api/session", {
    method: "POST",
    body: { token: TOKENS.reader.token },
    headers: PAGE,
  });
  const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";")[0] as string;
  expect((await ask("/api/session", { headers: { cookie } })).status).toBe(200);
  const place = (...of: readonly unknown[]): string => Buffer.from(JSON.stringify(of)).toString("base64url");
  const after = place(Date.now(), "ended-5");
  for (const path of [
    ...["15m", "1h", "6h", "24h"].map((window) => `/api/overview?window=${window}`),
    ...["15m", "24h"].map((window) => `/api/overview/history?window=${window}`),
    "/api/session",
    "/api/metrics",
    "/api/ready",
    "/api/attention",
    "/api/attention?kind=dead-letter",
    "/api/attention/count",
    // After an item of the third source: other sources begin before, at and after its instant.
    `/api/attention?after=${place(Date.now(), 3, randomUUID())}`,
    "/api/audit",
    "/api/sagas/ended-1",
    "/api/flows/ended1",
    "/api/schedules/ended1",
    ...["", "q=ended", "status=paused", `after=${place("ended5")}`].map((query) => `/api/schedules?${query}`),
    ...[
      "",
      "status=failed",
      "status=running",
      "status=completed,stalled",
      "type=flow-3",
      "q=flow-3",
      "q=ended7",
    ].flatMap((query) => [`/api/flows?${query}`, `/api/flows?${query}&after=${after}`]),
    ...["", "status=abandoned", "status=succeeded", "kind=delivery"].map((query) => `/api/outbox?${query}`),
    ...[
      "",
      "status=DeadLettered",
      "status=Pending,Completed",
      "subscription=3",
      "subscription=3&status=Pending",
      "event=e",
    ].flatMap((query) => [
      `/api/webhooks/deliveries?${query}`,
      `/api/webhooks/deliveries?${query}&after=${place("900")}`,
    ]),
    ...[
      "",
      "status=FAILED",
      "status=STALLED",
      "status=RUNNING",
      "name=saga-3",
      "q=saga-3%20failed",
      "q=ended-77",
      "q=end:x",
    ].flatMap((query) => [
      `/api/sagas?${query}`,
      `/api/sagas?${query}&after=${after}`,
      `/api/sagas?${query}&from=2020-01-01&to=2120-01-01`,
    ]),
  ]) {
    const response = await as("revealer", path);
    expect([path, [200, 503].includes(response.status)]).toEqual([path, true]);
  }
  const never = "10000d" as const;
  const policy = { completed: never, failed: never };
  const sagas = { ...policy, archive: true, archived: never };
  const { retention } = await database.amends({
    database: amends.context.database,
    retention: { sagas, flows: policy, outbox: { done: never, untaken: never }, batch: 50 },
  });
  expect([await retention.runOnce(), await retention.runOnce(), await retention.runOnce()]).toEqual([
    0, 0, 0,
  ]);
  const live = await ask("/api/live?saga=ended-1", { headers: program("reader") });
  const reader = (live.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  while (!statements().some((one) => one.sql.includes("saga_logs as l"))) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await reader.cancel();
  console.close();
  return statements().filter(
    (one) => TABLES.some((table) => one.sql.includes(table)) && !/^explain/i.test(one.sql),
  );
}

async function scansOf(statements: readonly Sql[], explainer: Explainer): Promise<readonly string[]> {
  const found: string[] = [];
  for (const statement of statements) {
    const scans = await explainer.scans(statement);
    found.push(...scans.map((scan) => `${scan}: ${statement.sql.replaceAll(/\s+/g, " ")}`));
  }
  await explainer.end();
  return found;
}

const WATCH = {
  small: /saga_executions_(due|stalled|failing|excluded)|lost_sagas_found|saga_state_open|outbox_abandoned/,
  tables: TABLES,
};

/** What a statement made itself and walks over, `w` (one row for each part that the database refuses), `h` (one row for each handler of an event), and the indexes of what is open or needs a person: never all of a table. */
const OWN =
  /^SCAN (?:s|k|u|h|names|ended|d|p|w|opened|due|hits|last|found|subjects|waiting|walk|counted|t|CONSTANT ROW|json_each.*)$/;
const SMALL =
  /(?:INDEX|of all of) \S*(?:saga_executions_due|saga_state_open|outbox_(?:abandoned|subject)|_stalled|_failing|_excluded|dead_letters_(?:open|subscription)|_disabled|operator_actions_(?:at|pkey))$/;

function large(scans: readonly string[]): readonly string[] {
  return scans.filter((scan) => {
    const [what = ""] = scan.split(": ");
    return !OWN.test(what) && !SMALL.test(what);
  });
}

onDatabase("sqlite", (database) => {
  it("[P-04][P-06] indexes serve every read of the console and of retention, whatever the statistics say", async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(20);
    const scans = await scansOf(statements, explainSqlite(db, WATCH));
    expect(large(scans)).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it("[P-04][P-06] indexes serve every read of the console and of retention, whatever the statistics say", async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(20);
    const scans = await scansOf(statements, await explainPostgres(await database.place(), "generic", WATCH));
    expect(large(scans)).toEqual([]);
  });
});
