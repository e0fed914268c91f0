/**
 * The services of examples/frameworks, each with its real framework. `npm run frameworks` installs them against the packed
 * package and runs all of them; `npm test` runs the one with Hono, compiled with the project.
 */
import path from "node:path";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import { createDatabase } from "../../tools/postgres-server.mjs";
import { describeOn } from "../support/databases.ts";
import { compiled } from "../support/built.ts";
import { openPayments } from "./payments.ts";
import { startService, type Command, type Service } from "./service.ts";

const installed = process.env["AMENDS_FRAMEWORKS"];
const names = process.env["AMENDS_FRAMEWORK_NAMES"]?.split(",") ?? ["hono"];
const SECRET = "a secret of the cron job";
const CONSOLE_TOKEN = "a-token-of-an-operator-long-enough";

async function commandOf(name: string): Promise<Command> {
  if (installed === undefined) {
    const folder = path.join(await compiled(), "examples", "frameworks", name);
    return { cwd: folder, args: ["src/main.js"], keepAlive: false };
  }
  const cwd = path.join(installed, name);
  const main = name === "next" ? ".next/standalone/server.js" : "dist/main.js";
  return { cwd, args: [main], keepAlive: true };
}

async function order(service: Service, base: string, cents: number): Promise<string> {
  const { status, body } = await service.request(`${base}/orders`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ cents }),
  });
  expect(status).toBe(202);
  return (body as { id: string }).id;
}

function statusOf(service: Service, base: string, id: string): () => Promise<unknown> {
  return async () => (await service.request(`${base}/orders/${id}`)).body;
}

async function refusesNonsense(service: Service, base: string): Promise<void> {
  for (const body of ['{"cents":-1}', "{"]) {
    const headers = { "content-type": "application/json" };
    const answer = await service.request(`${base}/orders`, { method: "POST", headers, body });
    expect(answer.status).toBe(400);
  }
  expect((await service.request(`${base}/orders/unknown`)).status).toBe(404);
}

async function query(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows[0];
  } finally {
    await client.end();
  }
}

/** The database refuses connections, and ends those that it has; then it accepts them again. */
async function noticesAnOutage(service: Service, database: string): Promise<void> {
  const server = inject("postgresUrl");
  const health = async (): Promise<number> => (await service.request("/health")).status;
  await query(server, `alter database ${database} allow_connections false`);
  await query(
    server,
    `select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = '${database}'`,
  );
  await expect.poll(health).toBe(503);
  await query(server, `alter database ${database} allow_connections true`);
  await expect.poll(health).toBe(200);
}

/** The pages and their files, and the API with a token: all of it mounted at /console. */
async function servesTheConsole(service: Service, sagaId: string): Promise<void> {
  const page = await service.request("/console/");
  expect(page).toMatchObject({ status: 200, body: expect.stringContaining("<!doctype html>") as string });
  const [, script] = /src="\.\/(assets\/[^"]+\.js)"/.exec(page.body as string) ?? [];
  expect((await service.request(`/console/${script}`)).status).toBe(200);
  expect((await service.request("/console/api/sagas")).status).toBe(401);
  const headers = { authorization: `Bearer ${CONSOLE_TOKEN}` };
  expect(await service.request(`/console/api/sagas/${sagaId}`, { headers })).toMatchObject({
    status: 200,
    body: { status: "COMPLETED" },
  });
}

describeOn("postgres", () => {
  describe.each(names.filter((one) => one !== "next"))("%s", (name) => {
    it("[C-10] a service runs the sagas that its routes start, and SIGTERM neither loses nor repeats a call", async () => {
      const url = await createDatabase(inject("postgresUrl"), `frameworks_${name}`);
      await using payments = await openPayments();
      const env = { DATABASE_URL: url, PAYMENTS_URL: payments.url };
      const command = await commandOf(name);

      await using service = await startService(command, "/health", env);
      const paid = await order(service, "", 1_200);
      const declined = await order(service, "", 50_000);
      await expect.poll(statusOf(service, "", paid)).toEqual({ id: paid, status: "paid" });
      await expect.poll(statusOf(service, "", declined)).toEqual({ id: declined, status: "declined" });
      await refusesNonsense(service, "");
      await noticesAnOutage(service, `frameworks_${name}`);

      // The stop comes while the payment service has been asked and has not answered.
      const answer = payments.hold();
      const late = await order(service, "", 700);
      await expect.poll(() => payments.calls.get(`${late}:charge:act`)).toBe(1);
      service.terminate();
      // Nest closes its server after the worker has stopped, the others before.
      const health = () =>
        service.request("/health").then(
          ({ status }) => status,
          () => "no answer",
        );
      await expect.poll(health).toBe(name === "nest" ? 503 : "no answer");
      // The next deployment is up before the call ends: it must leave the call alone.
      await using next = await startService(command, "/health", env);
      answer();
      expect(await service.ended()).toBe(0);
      await expect.poll(statusOf(next, "", late)).toEqual({ id: late, status: "paid" });
      expect([...payments.calls.values()]).toEqual([1, 1, 1]);
      next.terminate();
      expect(await next.ended()).toBe(0);
      expect(
        await query(url, "select count(*)::int as running from amends.workers where stopped_at is null"),
      ).toEqual({ running: 0 });
    });
  });

  describe.each(names.filter((one) => one === "next"))("%s", (name) => {
    it("[C-10] a route of Next.js starts a saga, and its cron route runs it", async () => {
      const url = await createDatabase(inject("postgresUrl"), `frameworks_${name}`);
      await using payments = await openPayments();
      const env = { DATABASE_URL: url, PAYMENTS_URL: payments.url, CRON_SECRET: SECRET, CONSOLE_TOKEN };
      await using service = await startService(await commandOf(name), "/", env);
      const paid = await order(service, "/api", 1_200);
      const declined = await order(service, "/api", 50_000);
      await refusesNonsense(service, "/api");
      expect((await service.request("/api/work")).status).toBe(401);
      const headers = { authorization: `Bearer ${SECRET}` };
      expect(await service.request("/api/work", { headers })).toMatchObject({
        status: 200,
        body: { more: false },
      });
      expect(await statusOf(service, "/api", paid)()).toEqual({ id: paid, status: "paid" });
      expect(await statusOf(service, "/api", declined)()).toEqual({ id: declined, status: "declined" });
      expect([...payments.calls.values()]).toEqual([1, 1]);
      await servesTheConsole(service, paid);
      service.terminate();
      // Next.js ends with the number that shells give to a process that SIGTERM ended.
      expect(await service.ended()).toBe(143);
    });
  });
});
