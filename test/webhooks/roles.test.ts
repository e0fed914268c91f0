/** Each role may do what its part does, and nothing else: tried with a login of its own, against the tables themselves. */
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { loginAs, loginUrl, PARTS, type Part } from "./support/logins.ts";
import { failed, onEachForm, stage, World } from "./support/stage.ts";

const NOW = "now()";
const STATEMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  webhook_delivery_sagas: {
    select: "select status, attempt_count from webhook_delivery_sagas",
    insert: `insert into webhook_delivery_sagas (event_id, subscription_id, next_attempt_at, created_at, updated_at) values (9, 9, ${NOW}, ${NOW}, ${NOW})`,
    "insert as completed": `insert into webhook_delivery_sagas (event_id, subscription_id, status, created_at, updated_at) values (9, 9, 'Completed', ${NOW}, ${NOW})`,
    "insert anew": `insert into webhook_delivery_sagas (event_id, subscription_id, generation, requeued_from, created_at, updated_at) values (9, 9, 4, 8, ${NOW}, ${NOW})`,
    update: "update webhook_delivery_sagas set updated_at = updated_at where status = 'Pending'",
    delete: "delete from webhook_delivery_sagas where id = 0",
  },
  webhook_jobs: {
    select: "select status, result from webhook_jobs",
    "select a lease": "select owner, token, attempts, next_attempt_at from webhook_jobs",
    insert: `insert into webhook_jobs (saga_id, event_id, subscription_id, attempt, created_at, next_attempt_at) values (9, 9, 9, 1, ${NOW}, ${NOW})`,
    "insert a lease": `insert into webhook_jobs (saga_id, event_id, subscription_id, attempt, created_at, status, owner, token, attempts) values (9, 9, 9, 1, ${NOW}, 'Leased', 'me', 1, 1)`,
    "update a lease":
      "update webhook_jobs set token = token + 1, owner = 'me', next_attempt_at = null where id = 0",
    "clear a result": "update webhook_jobs set result = null where id = 0",
    "update its delivery": "update webhook_jobs set saga_id = 1 where id = 0",
    delete: "delete from webhook_jobs where id = 0",
  },
  webhook_attempts: {
    select: "select verdict from webhook_attempts",
    insert: `insert into webhook_attempts (report, job_id, saga_id, token, verdict, ok, code, duration_ms, created_at) values (gen_random_uuid(), 1, 1, 1, 'late', true, 'x', 1, ${NOW})`,
    update: "update webhook_attempts set code = 'y' where id = 0",
    delete: "delete from webhook_attempts where id = 0",
  },
  webhook_lanes: {
    "select failures": "select failures from webhook_lanes",
    "clear a reason": "update webhook_lanes set disable_reason = null where disable_reason is not null",
    insert: "insert into webhook_lanes (subscription_id) values (77)",
    delete: "delete from webhook_lanes where subscription_id = 0",
  },
  dead_letters: {
    select: "select status from dead_letters",
    insert: `insert into dead_letters (saga_id, event_id, subscription_id, error_code, attempt_count, created_at) values (9, 9, 9, 'x', 1, ${NOW})`,
    update: "update dead_letters set reason = 'x' where id = 0",
    delete: "delete from dead_letters where id = 0",
  },
  webhook_events: {
    select: "select type, event_key from webhook_events",
    payload: "select payload from webhook_events",
    insert: `insert into webhook_events (event_key, type, attributes, payload, created_at) values ('k', 't', '{}', '{}', ${NOW})`,
    update: "update webhook_events set type = 'x' where id = 0",
    delete: "delete from webhook_events where id = 0",
  },
  webhook_subscriptions: {
    select: "select id, status, concurrency from webhook_subscriptions",
    url: "select url from webhook_subscriptions",
    secrets: "select secrets from webhook_subscriptions",
    insert: `insert into webhook_subscriptions (url, status, events, filter, secrets, concurrency, created_at, updated_at) values ('u', 'Active', '[]', '{}', '[]', 1, ${NOW}, ${NOW})`,
    disable: "update webhook_subscriptions set status = 'Disabled', reason = 'x' where id = 0",
    update: "update webhook_subscriptions set url = 'x' where id = 0",
    delete: "delete from webhook_subscriptions where id = 0",
  },
  webhook_targets: { select: "select url, secrets from webhook_targets" },
  webhook_payloads: { select: "select payload from webhook_payloads" },
  operator_actions: {
    select: "select reason from operator_actions",
    insert: `insert into operator_actions (id, outcome, at, done_by, action, target_kind, target_id, reason) values ('i', 'asked', ${NOW}, 'b', 'a', 'k', 't', 'r')`,
  },
  saga_executions: { select: "select id from saga_executions" },
  outbox: { select: "select entry_id from outbox" },
};

type Allowed = Readonly<Record<string, readonly string[]>>;

const EVERY_DELETE: Allowed = {
  webhook_delivery_sagas: ["select", "delete"],
  webhook_jobs: ["select", "select a lease", "delete"],
  webhook_attempts: ["select", "delete"],
  dead_letters: ["select", "delete"],
  webhook_events: ["select", "payload", "delete"],
};

const ALLOWED: Readonly<Record<Part, Allowed>> = {
  publisher: {
    webhook_delivery_sagas: ["insert"],
    webhook_events: ["select", "payload", "insert"],
  },
  orchestrator: {
    webhook_delivery_sagas: ["select", "insert", "insert as completed", "insert anew", "update"],
    webhook_jobs: ["select", "insert", "clear a result"],
    webhook_lanes: ["select failures", "clear a reason", "insert"],
    dead_letters: ["insert"],
    webhook_events: ["select"],
    webhook_subscriptions: ["select"],
  },
  sender: {
    webhook_jobs: ["select", "select a lease", "update a lease", "clear a result"],
    webhook_attempts: ["select", "insert"],
    webhook_targets: ["select"],
    webhook_payloads: ["select"],
  },
  administrator: {
    webhook_delivery_sagas: ["insert"],
    webhook_lanes: ["clear a reason"],
    webhook_events: ["insert"],
    webhook_subscriptions: ["disable"],
  },
  subscriptions: {
    webhook_delivery_sagas: ["select", "insert", "insert anew"],
    webhook_lanes: ["select failures", "clear a reason"],
    webhook_events: ["select", "insert"],
    webhook_subscriptions: ["select", "url", "secrets", "insert", "disable", "update"],
    operator_actions: ["insert"],
  },
  deadLetters: {
    webhook_delivery_sagas: ["select", "insert", "insert anew"],
    webhook_lanes: ["select failures"],
    dead_letters: ["select", "update"],
    webhook_events: ["select"],
    webhook_subscriptions: ["select", "url"],
    operator_actions: ["insert"],
  },
  reader: {
    webhook_delivery_sagas: ["select"],
    webhook_jobs: ["select", "select a lease"],
    webhook_attempts: ["select"],
    webhook_lanes: ["select failures"],
    dead_letters: ["select"],
    webhook_events: ["select", "payload"],
    webhook_subscriptions: ["select", "url"],
  },
  retention: EVERY_DELETE,
  delivery: {
    webhook_delivery_sagas: ["select", "insert", "insert as completed", "insert anew", "update"],
    webhook_jobs: [
      "select",
      "select a lease",
      "insert",
      "insert a lease",
      "update a lease",
      "clear a result",
      "update its delivery",
    ],
    webhook_attempts: ["select", "insert"],
    webhook_lanes: ["select failures", "clear a reason", "insert"],
    dead_letters: ["insert"],
    webhook_events: ["select", "insert"],
    webhook_subscriptions: ["select", "disable"],
    webhook_targets: ["select"],
    webhook_payloads: ["select"],
  },
};

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  // The database is dropped, with force, before this connection is closed.
  client.on("error", () => undefined);
  await client.query("set search_path to amends");
  return client;
}

/** Which of the statements a login may carry out. Those that fail for another reason than a right are told. */
async function tryAll(client: pg.Client): Promise<{ allowed: Allowed; odd: readonly string[] }> {
  const allowed: Record<string, string[]> = {};
  const odd: string[] = [];
  for (const [table, statements] of Object.entries(STATEMENTS))
    for (const [what, text] of Object.entries(statements)) {
      await client.query("begin");
      const outcome = await client.query(text).then(
        () => "allowed",
        (error: { code?: string; message?: string }) =>
          error.code === "42501" ? "denied" : String(error.message),
      );
      await client.query("rollback");
      if (outcome === "allowed") (allowed[table] ??= []).push(what);
      else if (outcome !== "denied") odd.push(`${table} ${what}: ${outcome}`);
    }
  return { allowed, odd };
}

onDatabase("postgres", (database) => {
  it.each(PARTS)(
    "[W-13][W-04] a login with the role of the %s may do what its part needs, and nothing else",
    async (part) => {
      const { db, subscribe, publish, work } = await stage(database);
      await migrate(db, { roles: true });
      await migrate(db, { roles: true });
      await subscribe("a");
      await publish();
      await work();
      await publish();
      const { allowed, odd } = await tryAll(await connect(await loginUrl(database, [part])));
      expect(odd).toEqual([]);
      expect(allowed).toEqual(ALLOWED[part]);
    },
  );

  it("[W-13] one login with the role of delivery creates, sends, applies and disables by itself", async () => {
    const owner = await stage(database);
    const { amends, clock, world, subscribe, publish, states } = owner;
    const gone = await subscribe("gone");
    await subscribe("a");
    world.answer = ({ url }) => (url.includes("gone") ? { ok: false, code: "gone", gone: true } : {});
    await publish();
    const db = await loginAs(database, ["delivery"], clock);
    const own = await database.amends({ database: db, webhooks: { sender: world } });
    const worker = own.worker({ only: ["webhooks"] });
    while ((await worker.runOnce()) > 0);
    expect((await states()).toSorted()).toEqual(["Completed 1", "DeadLettered 1"]);
    expect(await amends.webhooks.subscription(gone)).toMatchObject({ status: "Disabled", reason: "gone" });
  });

  it.each([
    ["webhooks:orchestrator", "insert on amends.webhook_jobs", "amends_webhook_orchestrator"],
    ["webhooks:sender", "select on amends.webhook_targets", "amends_webhook_sender"],
    ["webhooks:administrator", "update on amends.webhook_subscriptions", "amends_webhook_administrator"],
    ["webhooks", "insert on amends.webhook_jobs", "amends_webhook_delivery"],
  ])(
    "[W-13] a worker of %s without its rights does not start, and names what it lacks",
    async (duty, lacks, role) => {
      const { amends } = await loggedIn(database, ["reader"]);
      const refused = amends.worker({ only: [duty] }).start();
      await expect(refused).rejects.toMatchObject({ code: "DATABASE_FORBIDDEN", details: { role } });
      await expect(refused).rejects.toThrow(lacks);
      await expect(refused).rejects.toThrow(`grant ${role} to`);
    },
  );

  it("[W-13] a login without any role is told that it may not even look, and a call which right it lacks", async () => {
    const { amends: nobody } = await loggedIn(database, []);
    const start = nobody.worker({ only: ["webhooks:sender"] }).start();
    await expect(start).rejects.toMatchObject({ code: "DATABASE_FORBIDDEN" });
    await expect(start).rejects.toThrow("permission denied for schema amends");
    const { amends: reader } = await loggedIn(database, ["reader"]);
    for (const [call, table] of [
      [() => reader.webhooks.publish({ type: "a", data: {} }), "webhook_events"],
      [() => reader.webhooks.subscribe({ url: "https://a.example", events: ["*"] }), "webhook_subscriptions"],
      [() => reader.webhooks.dismiss("1", { reason: "r" }), "dead_letters"],
    ] as const) {
      await expect(call()).rejects.toMatchObject({ code: "DATABASE_FORBIDDEN" });
      await expect(call()).rejects.toThrow(`permission denied for table ${table}`);
    }
  });

  async function loggedIn(
    of: TestDatabase,
    parts: readonly Part[],
  ): Promise<{ amends: Awaited<ReturnType<TestDatabase["amends"]>> }> {
    const amends = await of.amends({
      database: await loginAs(of, parts),
      webhooks: { sender: new World() },
    });
    return { amends };
  }
});

onDatabase("sqlite", (database) => {
  it("SQLite has no roles, and says so", async () => {
    const amends = await database.amends({});
    await expect(amends.migrate({ roles: true })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  });
});

onEachForm((database) => {
  it("a lasting failure and a dead letter go all the way, whoever does which part of it", async () => {
    const { amends, subscribe, publish, later, world, states } = await stage(database, {
      disableAfter: "1s",
      retry: { attempts: 2, base: "1s", cap: "1s" },
    });
    const id = await subscribe("a", { concurrency: 20 });
    world.answer = () => failed();
    for (let n = 0; n < 12; n++) await publish();
    for (let n = 0; n < 12; n++) await later(1_000);
    expect(await amends.webhooks.subscription(id)).toMatchObject({ status: "Disabled", reason: "failing" });
    expect(new Set((await states()).map((state) => state.split(" ")[0]))).toEqual(new Set(["DeadLettered"]));
    expect(await amends.webhooks.deadLetters()).toHaveLength(12);
  });
});
