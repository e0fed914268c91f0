/** Each role may do what its part does, and nothing else: tried with SET ROLE, against the tables themselves. */
import pg from "pg";
import { afterEach, expect, it } from "vitest";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { WEBHOOK_ROLES } from "../../src/storage/migrations/webhook-roles.ts";
import { onDatabase } from "../support/databases.ts";
import { stage } from "./support/stage.ts";

const NOW = "now()";
const STATEMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  webhook_delivery_sagas: {
    select: "select status, attempt_count from webhook_delivery_sagas",
    insert: `insert into webhook_delivery_sagas (event_id, subscription_id, status, created_at, updated_at) values (9, 9, 'Pending', ${NOW}, ${NOW})`,
    update: "update webhook_delivery_sagas set updated_at = updated_at where status = 'Pending'",
    delete: "delete from webhook_delivery_sagas where id = 0",
  },
  webhook_jobs: {
    select: "select status from webhook_jobs",
    insert: `insert into webhook_jobs (saga_id, event_id, subscription_id, attempt, created_at) values (9, 9, 9, 1, ${NOW})`,
    update: "update webhook_jobs set token = token + 1 where status = 'Pending'",
    delete: "delete from webhook_jobs where id = 0",
  },
  webhook_attempts: {
    select: "select verdict from webhook_attempts",
    insert: `insert into webhook_attempts (report, job_id, saga_id, token, verdict, ok, code, duration_ms, created_at) values (gen_random_uuid(), 1, 1, 1, 'late', true, 'x', 1, ${NOW})`,
    update: "update webhook_attempts set code = 'y' where id = 0",
    delete: "delete from webhook_attempts where id = 0",
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
    secrets: "select secrets from webhook_subscriptions",
    insert: `insert into webhook_subscriptions (url, status, events, filter, secrets, concurrency, created_at, updated_at) values ('u', 'Active', '[]', '{}', '[]', 1, ${NOW}, ${NOW})`,
    update: "update webhook_subscriptions set status = 'Paused' where id = 0",
    delete: "delete from webhook_subscriptions where id = 0",
  },
  webhook_targets: { select: "select url, secrets from webhook_targets" },
  webhook_payloads: { select: "select payload from webhook_payloads" },
};

const ALLOWED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  webhook_orchestrator: {
    webhook_delivery_sagas: ["select", "insert", "update"],
    webhook_jobs: ["select", "insert"],
    webhook_events: ["select"],
    webhook_subscriptions: ["select"],
  },
  webhook_worker: {
    webhook_jobs: ["select", "update"],
    webhook_attempts: ["select", "insert"],
    webhook_targets: ["select"],
    webhook_payloads: ["select"],
  },
  webhook_dead_letters: {
    dead_letters: ["select", "insert", "update"],
    webhook_delivery_sagas: ["select"],
    webhook_events: ["select"],
  },
  webhook_retention: {
    webhook_delivery_sagas: ["select", "delete"],
    webhook_jobs: ["select", "delete"],
    webhook_attempts: ["select", "delete"],
    dead_letters: ["select", "delete"],
    webhook_events: ["select", "payload", "delete"],
  },
  webhook_reader: {
    webhook_delivery_sagas: ["select"],
    webhook_jobs: ["select"],
    webhook_attempts: ["select"],
    dead_letters: ["select"],
    webhook_events: ["select", "payload"],
    webhook_subscriptions: ["select"],
  },
};

onDatabase("postgres", (database) => {
  const clients: pg.Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.end();
  });

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client(await database.place());
    await client.connect();
    clients.push(client);
    await client.query("set search_path to amends");
    return client;
  }

  it.each(WEBHOOK_ROLES.map(({ name }) => name))(
    "[W-13] %s may do what its part needs, and nothing else",
    async (role) => {
      const { db, subscribe, publish, work } = await stage(database);
      await migrate(db, { roles: true });
      await migrate(db, { roles: true });
      await subscribe("a");
      await publish();
      await work();
      await publish();
      const client = await connect();
      await client.query(`set role amends_${role}`);
      const tried: Record<string, string[]> = {};
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
          if (outcome === "allowed") (tried[table] ??= []).push(what);
          else if (outcome !== "denied") odd.push(`${table} ${what}: ${outcome}`);
        }
      expect(odd).toEqual([]);
      expect(tried).toEqual(ALLOWED[role]);
    },
  );
});

onDatabase("sqlite", (database) => {
  it("[W-13] SQLite has no roles, and says so", async () => {
    const amends = await database.amends({});
    await expect(amends.migrate({ roles: true })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  });
});
