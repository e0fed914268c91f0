import { expect, it } from "vitest";
import type { AttentionLine, Health, Overview, OverviewHistory, Page } from "../../src/console/contract.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";
import { forEver, gate } from "../sagas/support/gate.ts";
import { openFlows } from "./support/flows.ts";
import { orders, openShop } from "./support/shop.ts";
import { visit } from "./support/visit.ts";
import { saga } from "amends";
import { DatabaseAuditSink } from "amends/audit";
import { Outbox } from "amends/erasure";
import { z } from "zod";

interface Operation {
  readonly "x-role": string;
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
}

onEachDatabase((database) => {
  it("[P-04] the overview has counts by state, throughput, latency, the age of the backlog, and attention", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    await shop.run("COMPLETED", "o-1");
    await shop.run("FAILED", "o-2");
    await shop.run("STALLED", "o-3");
    await shop.amends.start(shop.order, { orderId: "o-4", end: "COMPLETED" }, { id: "o-4" });
    await clock.advance(30_000);
    const { get } = visit(shop.amends);
    const overview = await get<Overview>("reader", "/api/overview?window=1h");
    expect(overview).toMatchObject({
      window: "1h",
      bucketMs: 60_000,
      sagas: {
        byStatus: {
          PENDING: { value: 1, exact: true },
          RUNNING: { value: 0, exact: true },
          COMPENSATING: { value: 0, exact: true },
          STALLED: { value: 1, exact: true },
          COMPLETED: { value: 1, exact: true },
          FAILED: { value: 1, exact: true },
        },
        latency: { sample: 1 },
      },
      backlog: { oldestMs: 30_000, due: { value: 1, exact: true } },
      workers: 0,
      runMsAgo: 30_000,
      attention: { value: 1, exact: true },
    });
    const { buckets } = overview.sagas;
    expect(buckets).toHaveLength(60);
    const sum = (name: "completed" | "failed" | "stalled"): number =>
      buckets.reduce((total, bucket) => total + bucket[name], 0);
    expect([sum("completed"), sum("failed"), sum("stalled")]).toEqual([1, 1, 1]);
    const gaps = buckets
      .slice(1)
      .map((bucket, n) => Date.parse(bucket.at) - Date.parse(buckets[n]?.at ?? ""));
    expect(new Set(gaps)).toEqual(new Set([60_000]));
    const worker = shop.amends.worker();
    await worker.start();
    const running = await get<Overview>("reader", "/api/overview?window=15m");
    expect(running).toMatchObject({ workers: 1, runMsAgo: null });
    await worker.stop();
    await clock.advance(60_000);
    expect((await get<Overview>("reader", "/api/overview?window=1h")).workers).toBe(0);
  });

  it("[P-04] where more ended than are counted, the pace stands for the rest", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [orders()] });
    const { dialect } = db;
    // 600 in each of the last minutes, evenly.
    const rows = numbered(dialect, 1_800);
    const at = dialect.plusMs(dialect.now(), sql`(0 - r.n * 100)`);
    await db.query(sql`insert into ${dialect.table("saga_executions")} (id, name, kind, status, context, plan, created_at, updated_at)
      select 'o-' || r.n, 'place-order', 'place-order@1#', 'COMPLETED', '{}', '', ${at}, ${at} from ${rows}`);
    const { get } = visit(amends);
    const { sagas } = await get<Overview>("reader", "/api/overview?window=1h");
    const full = sagas.buckets.filter(({ exact }) => !exact);
    expect(full.length).toBeGreaterThanOrEqual(2);
    for (const { completed } of full.slice(1)) {
      expect(completed).toBeGreaterThan(550);
      expect(completed).toBeLessThan(650);
    }
  });

  it("[P-04] the plots begin with what is stored: how long sagas of each stretch took, and had waited", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    const start = (id: string) => shop.amends.start(shop.order, { orderId: id, end: "COMPLETED" }, { id });
    await start("o-1");
    await clock.advance(30_000);
    await shop.amends.worker().runOnce();
    await clock.advance(600_000);
    await shop.run("COMPLETED", "o-2");
    const { get, as } = visit(shop.amends);
    const history = await get<OverviewHistory>("reader", "/api/overview/history?window=1h");
    const { sagas } = await get<Overview>("reader", "/api/overview?window=1h");
    expect(history.points.map(({ at }) => at)).toEqual(sagas.buckets.map(({ at }) => at));
    const known = history.points.filter(({ p50Ms }) => p50Ms !== null);
    expect(known).toMatchObject([
      { p50Ms: 30_000, p95Ms: 30_000, waitedMs: 30_000 },
      { p50Ms: 0, p95Ms: 0, waitedMs: 0 },
    ]);
    expect((await as("reader", "/api/overview/history?window=2h")).status).toBe(400);
  });

  it("[P-02] attention lists what needs a person, with what each item allows", async () => {
    const shop = await openShop(database);
    await shop.run("STALLED", "o-1");
    await shop.run("STALLED", "o-2");
    const { get, as } = visit(shop.amends);
    const first = await get<Page<AttentionLine>>("reader", "/api/attention?limit=1");
    expect(first.items).toMatchObject([
      {
        kind: "stalled-saga",
        id: "o-1",
        name: "place-order",
        reason: "the undo of step charge failed (RangeError)",
        actions: ["retry", "skip", "resolve"],
        skippable: ["charge"],
      },
    ]);
    const after = encodeURIComponent(first.next ?? "");
    const second = await get<Page<AttentionLine>>("reader", `/api/attention?limit=1&after=${after}`);
    expect(second.items.map(({ id }) => id)).toEqual(["o-2"]);
    expect((await as("reader", "/api/attention?after=nonsense")).status).toBe(400);
  });

  it("[P-05] readiness fails while due work lies still, and says why to whoever is signed in", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    const { ask, as } = visit(shop.amends, { stuckAfter: "5m" });
    await shop.amends.start(shop.order, { orderId: "o-1", end: "COMPLETED" }, { id: "o-1" });
    expect([(await ask("/api/health")).status, (await ask("/api/ready")).status]).toEqual([200, 200]);
    await clock.advance(300_000);
    const stuck = await ask("/api/ready");
    expect([stuck.status, await stuck.json()]).toEqual([503, { status: "stuck" }]);
    const told = (await (await as("reader", "/api/ready")).json()) as Health;
    const idle = { ok: true, detail: "the oldest has waited for 0 s" };
    expect(told.checks).toEqual([
      { name: "database", ok: true, detail: "the database accepts writes" },
      { name: "due sagas", ok: false, detail: "the oldest has waited for 5 m" },
      ...["outbox", "events", "webhooks", "schedules"].map((part) => ({ name: `due ${part}`, ...idle })),
    ]);
    expect((await ask("/api/health")).status).toBe(200);
    await shop.amends.worker().runOnce();
    await clock.advance(1_000);
    expect((await ask("/api/ready")).status).toBe(200);
  });

  it("[P-05] readiness fails while due work of any part lies still, and not for what waits for good reason", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const scene = await openFlows(database, { database: db, webhooks: {} });
    const { amends } = scene;
    const { as, ask } = visit(amends, { stuckAfter: "5m" });
    const stuck = async (): Promise<readonly string[]> => {
      await clock.advance(1_000);
      const { checks = [] } = (await (await as("reader", "/api/ready")).json()) as Health;
      return checks.filter(({ ok }) => !ok).map(({ name }) => name);
    };
    const outbox = new Outbox(db, { audit: new DatabaseAuditSink(db) });
    const entry = { subjectId: "u-1", resolver: "a", ref: { kind: "a", value: "x" } };
    await scene.run("completed"); // leaves events that nobody takes: they are not due
    await clock.advance(300_000);
    expect(await stuck()).toEqual([]);
    // One waits for its next try; the other waits for its turn behind it.
    const { dialect } = db;
    const deliver = (id: string, status: string, due: Sql): Sql =>
      sql`insert into ${dialect.table("outbox")} (entry_id, kind, lane, name, event_id, event_version, handler, correlation, payload, status, next_attempt_at, enqueued_at)
        values (${id}, 'delivery', 'H@1', 'E', ${id}, 1, 'H', 'c', '{}', ${status}, ${due}, ${dialect.now()})`;
    const ids = ["00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"] as const;
    await db.query(deliver(ids[0], "failed", dialect.plusMs(dialect.now(), 3_600_000)));
    await db.query(deliver(ids[1], "pending", raw("null")));
    await clock.advance(300_000);
    expect(await stuck()).toEqual([]);
    await db.query(sql`delete from ${dialect.table("outbox")} where handler = 'H'`);
    await db.transaction((session) => outbox.enqueueIn(session, [entry]));
    await scene.publish("c-2");
    const { id } = await amends.webhooks.subscribe({ url: "https://partner.example/x", events: ["order.*"] });
    const paused = await amends.webhooks.subscribe({ url: "https://partner.example/y", events: ["order.*"] });
    await amends.webhooks.pause(paused.id, { reason: "maintenance" });
    await db.transaction(async (_session, tx) =>
      amends.webhooks.publish({ type: "order.placed", data: {} }, { tx }),
    );
    expect(await stuck()).toEqual([]);
    await clock.advance(300_000);
    expect(await stuck()).toEqual(["due outbox", "due events", "due webhooks"]);
    expect((await ask("/api/ready")).status).toBe(503);
    const metrics = await (await as("reader", "/api/metrics")).text();
    expect(metrics).toMatch(/amends_oldest_due_seconds\{part="webhooks"\} 30\d/);
    for (const claimed of await outbox.claimBatch()) await outbox.markSucceeded(claimed);
    await amends.webhooks.pause(id, { reason: "maintenance" });
    await scene.settle();
    expect(await stuck()).toEqual([]);
  });

  it("[P-05] work that runs under a lease is not stuck, however long it takes", async () => {
    const clock = virtualClock();
    const held = gate();
    const slow = saga("slow", z.object({})).step("wait", {
      act: () => {
        void held.pass();
        return forEver();
      },
    });
    const amends = await database.amends({ clock, sagas: [slow] });
    const { as } = visit(amends);
    const worker = await database.worker(amends);
    await amends.start(slow, {}, { id: "s-1" });
    await held.reached;
    await clock.advance(20_000);
    const health = (await (await as("reader", "/api/ready")).json()) as Health;
    expect(health.checks?.map(({ name, ok }) => [name, ok])).toEqual([
      ["database", true],
      ["due sagas", true],
      ["due outbox", true],
      ["due events", true],
      ["due webhooks", true],
      ["due schedules", true],
      ["worker", true],
    ]);
    await worker.stop({ deadline: "0s" });
  });

  it("[P-05] the figures are there as Prometheus text, and no id is among them", async () => {
    const shop = await openShop(database);
    await shop.run("COMPLETED", "order-one");
    await shop.run("STALLED", "order-two");
    const { as } = visit(shop.amends);
    const response = await as("reader", "/api/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await response.text();
    expect(text).toContain('amends_sagas{status="STALLED"} 1\n');
    expect(text).toContain("amends_sagas_completed_total 1\n");
    for (const part of ["sagas", "outbox", "events", "webhooks"]) {
      expect(text).toContain(`amends_oldest_due_seconds{part="${part}"} 0\n`);
    }
    expect(text).toContain('amends_outbox_entries{status="abandoned"} 0\n');
    expect(text).toContain('amends_flows{status="stalled"} 0\n');
    expect(text).toContain('amends_webhook_deliveries{status="PendingRetry"} 0\n');
    expect(text).toContain('amends_attention{kind="stalled-saga"} 1\n');
    expect(text).toContain('amends_attention{kind="dead-letter"} 0\n');
    expect(text).not.toContain("order-");
    for (const line of text.trimEnd().split("\n")) {
      expect(line).toMatch(
        /^(?:# (?:HELP|TYPE) amends_\w+ .+|amends_\w+(?:\{(?:status|part|kind)="[\w-]+"\})? [\d.e+-]+)$/,
      );
    }
  });

  it("[P-04] the OpenAPI document has every route of the table, with its role", async () => {
    const shop = await openShop(database);
    const { get, console } = visit(shop.amends);
    const document = await get<{
      openapi: string;
      paths: Record<string, Record<string, Operation>>;
    }>("reader", "/api/openapi.json");
    expect(document.openapi).toBe("3.1.0");
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { "x-role": role }]) => `${method.toUpperCase()} ${path} ${role}`,
      ),
    );
    expect(operations.toSorted()).toEqual(
      console.routes.map(({ method, path, access }) => `${method} ${path} ${access}`).toSorted(),
    );
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((one) => one.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const [method, { parameters }] of Object.values(document.paths).flatMap((methods) =>
      Object.entries(methods),
    )) {
      const headers = parameters.filter((one) => one.in === "header");
      expect(headers).toMatchObject(method === "get" ? [] : [{ name: "x-amends-console", required: true }]);
    }
  });

  it("[P-04] an address that there is not says where all of them are", async () => {
    const shop = await openShop(database);
    const { as } = visit(shop.amends);
    const route = await as("reader", "/api/retry");
    expect([route.status, await route.json()]).toMatchObject([
      404,
      { message: "No such route. api/openapi.json lists all routes." },
    ]);
    const page = await as("reader", "/console/");
    expect([page.status, await page.json()]).toMatchObject([
      404,
      { message: "No such page. If the console is mounted below a path, pass it as `path`." },
    ]);
  });
});
