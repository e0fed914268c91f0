/** A database that refuses to record an outcome for a lasting reason: no act is called again, and the cause is told. */
import { saga, signal, type Amends, type Logger } from "amends";
import { event } from "amends/events";
import { postgres } from "amends/postgres";
import { readFile } from "node:fs/promises";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { raw } from "../../src/storage/sql.ts";
import { refusalsOf, rightsOf } from "../../src/cli/doctor/rights.ts";
import { onDatabase, onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { effect, effects, makeEffects, transactionOn } from "./support/effects-table.ts";
import { gate } from "./support/gate.ts";

const orderSchema = z.object({ orderId: z.string() });
const Paid = event("Paid", orderSchema);
const Shipped = event("Shipped", orderSchema);

interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function recordingLogger(): { readonly lines: Line[]; readonly logger: Logger } {
  const lines: Line[] = [];
  const at =
    (level: keyof Logger): Logger["info"] =>
    (fields, message) =>
      lines.push({ level, message, fields });
  return { lines, logger: { info: at("info"), warn: at("warn"), error: at("error") } };
}

/** Its end removes what it waited for, which is a statement of its own on the table `saga_interests`. */
function mailing(act: () => unknown) {
  return saga("mailing", orderSchema)
    .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
    .step("mail", { act });
}

async function sayPaid(amends: Amends, orderId: string): Promise<void> {
  await until(async () => (await amends.inspect(orderId))?.waiting !== undefined);
  await amends.events.publish(Paid({ orderId }));
}

async function renamed(db: Database, from: string, to: string): Promise<void> {
  await db.query(
    raw(
      `alter table ${db.dialect.table(from).text} rename to ${db.dialect.pick({ postgres: to, sqlite: db.dialect.table(to).text })}`,
    ),
  );
}

/** A login that may do what these statements grant, and its URL. */
async function loginWith(database: TestDatabase, grants: string): Promise<{ login: string; url: string }> {
  await database.open();
  const url = new URL(await database.place());
  const login = `${url.pathname.slice(1)}_app`;
  await asAdmin(`create role ${login} login password 'secret'`, inject("postgresUrl"));
  onTestFinished(() => asAdmin(`drop role ${login}`, inject("postgresUrl")));
  await asAdmin(grants.replaceAll(/\bapp\b/g, login), await database.place());
  url.username = login;
  url.password = "secret";
  return { login, url: url.href };
}

async function asAdmin(statement: string, url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** The grants of the guide, word for word: for an application, and for one that has retention as well. */
async function documentedGrants(): Promise<{ readonly application: string; readonly retention: string }> {
  const guide = await readFile(new URL("../../docs/guides/postgres.md", import.meta.url), "utf8");
  const blocks = [...guide.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, block]) => block as string);
  const [application, retention] = blocks.filter((block) => block.includes("grant "));
  return { application: application as string, retention: retention as string };
}

onEachDatabase((database) => {
  it("[K-22] a table that is missing at a checkpoint calls no act again: the cause is told, and the saga ends once it is back", async () => {
    const { lines, logger } = recordingLogger();
    const held = gate();
    let calls = 0;
    const order = mailing(async () => {
      calls++;
      await held.pass();
    });
    const look = await database.open();
    const amends = await database.amends({ sagas: [order], logger, lease: "1s" });
    await database.worker(amends, { poll: "20ms" });
    const run = await amends.start(order, { orderId: "o-1" }, { id: "o-1" });
    await sayPaid(amends, "o-1");
    await until(() => calls === 1);
    await renamed(look, "saga_interests", "moved_away");
    held.open();
    const item = await until(async () => (await amends.attention.list({ kind: "refused-write" })).items[0]);
    expect(item).toMatchObject({ name: "sagas", actions: [], code: "SCHEMA_MISSING", waiting: 1 });
    expect(item.reason).toContain("saga_interests");
    expect(item.reason).toContain("migrate()");
    expect(await refusalsOf(look)).toContainEqual(
      expect.objectContaining({
        check: "refusals",
        level: "wrong",
        advice: expect.stringContaining("migrate()") as unknown,
      }),
    );
    // The lease is renewed meanwhile: it would have ended, and no worker claims the saga.
    await until(async () => (await refusedForMs(look)) >= 1_100);
    expect((await amends.inspect("o-1"))?.status).toBe("RUNNING");
    await renamed(look, "moved_away", "saga_interests");
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(calls).toBe(1);
    await until(async () => (await amends.attention.list()).items.length === 0);
    const told = lines.filter(({ level }) => level === "error");
    expect(told).toHaveLength(1);
    expect(told[0]?.fields).toMatchObject({ operation: "sagas", code: "SCHEMA_MISSING" });
    expect(String(told[0]?.fields["cause"])).toContain("saga_interests");
    expect(lines.some(({ message }) => message.includes("records outcomes again"))).toBe(true);
  });

  it("[K-22] a transactional step whose checkpoint is refused keeps nothing, uses no attempt, and commits once it is allowed", async () => {
    const look = await database.open();
    await makeEffects(look);
    let calls = 0;
    const order = saga("booking", orderSchema).step("book", {
      transaction: transactionOn(database.name),
      retry: { attempts: 1 },
      act: async ({ tx, emit }) => {
        calls++;
        emit(Shipped({ orderId: "o-1" }));
        await effect(tx, "booked");
      },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends, { poll: "20ms", only: ["sagas"] });
    await renamed(look, "outbox", "moved_away");
    const run = await amends.start(order, { orderId: "o-1" }, { id: "o-1" });
    await until(async () => (await amends.attention.list({ kind: "refused-write" })).items[0]);
    await renamed(look, "moved_away", "outbox");
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(await effects(look)).toEqual(["booked"]);
    expect(calls).toBeGreaterThan(1);
  });
});

async function refusedForMs(db: Database): Promise<number> {
  const [row] = await db.query(
    raw(
      `select ${db.dialect.epochMs(raw("seen_at")).text} - ${db.dialect.epochMs(raw("since")).text} as ms from ${db.dialect.table("refused_writes").text}`,
    ),
  );
  return Number(row?.["ms"] ?? 0);
}

onDatabase("postgres", (database) => {
  it("[K-22] a right that is revoked during a saga calls no act again; once it is granted, the saga ends by itself", async () => {
    const { application } = await documentedGrants();
    const { login, url } = await loginWith(database, application);
    const { lines, logger } = recordingLogger();
    const held = gate();
    let calls = 0;
    const order = mailing(async () => {
      calls++;
      await held.pass();
    });
    const asApp = postgres({ url, connections: 3 }) as Database;
    const amends = await database.amends({
      database: asApp,
      sagas: [order],
      logger,
      lease: "1s",
    });
    await database.worker(amends, { poll: "20ms" });
    const run = await amends.start(order, { orderId: "o-1" }, { id: "o-1" });
    await sayPaid(amends, "o-1");
    await until(() => calls === 1);
    await asAdmin(`revoke delete on amends.saga_interests from ${login}`, await database.place());
    held.open();
    const item = await until(async () => (await amends.attention.list({ kind: "refused-write" })).items[0]);
    expect(item).toMatchObject({ code: "DATABASE_FORBIDDEN", state: "42501" });
    expect(item.reason).toContain("permission denied for table saga_interests");
    await until(() => lines.some(({ fields }) => fields["state"] === "42501"));
    expect(await rightsOf(asApp)).toMatchObject([
      { check: "rights", level: "warn", detail: "this login lacks: delete on amends.saga_interests" },
    ]);
    expect(await refusalsOf(asApp)).toMatchObject([{ check: "refusals", level: "wrong" }]);
    await asAdmin(`grant delete on amends.saga_interests to ${login}`, await database.place());
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(calls).toBe(1);
  });

  it("[K-22] the grants of the guide suffice for sagas that wait, emit, group and sleep, for their operators, calls, webhooks and retention", async () => {
    const { application, retention } = await documentedGrants();
    const { url } = await loginWith(database, application + retention);
    const told = signal("told", z.object({}));
    const all = saga("all", orderSchema)
      .step("first", { act: ({ emit }) => emit(Shipped({ orderId: "o-1" })) })
      .parallel("both", (group) => group.step("left", { act: () => 1 }).step("right", { act: () => 2 }))
      .sleep("nap", "10ms")
      .waitFor("word", { signal: told })
      .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
      .step("last", { act: () => 3 });
    const bad = saga("bad", orderSchema)
      .step("one", {
        act: () => 1,
        compensate: () => {
          throw new Error("no");
        },
        compensateRetry: { attempts: 1 },
      })
      .step("two", {
        act: () => {
          throw new Error("no");
        },
        retry: { attempts: 1 },
      });
    const amends = await database.amends({
      database: postgres({ url, connections: 3 }),
      sagas: [all, bad],
      webhooks: {},
      retention: { sagas: { completed: "1ms", failed: "1ms", archive: true } },
    });
    await database.worker(amends, { poll: "20ms" });
    const run = await amends.start(all, { orderId: "o-1" }, { id: "o-1" });
    await amends.signal("o-1", told, {});
    await amends.events.publish(Paid({ orderId: "o-1" }));
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    const stuck = await amends.start(bad, { orderId: "o-2" }, { id: "o-2" });
    await until(async () => (await stuck.status()) === "STALLED");
    await amends.resolve("o-2", "FAILED", { reason: "by hand" });
    const { id } = await amends.webhooks.subscribe({ url: "https://example.test/hook", events: ["*"] });
    await amends.webhooks.unsubscribe(id);
    await until(async () => {
      await amends.retention.runOnce();
      return (await amends.archived("o-1")) && (await amends.archived("o-2"));
    });
  });

  it("[K-22] a worker whose login may not run sagas does not begin, and names the rights that it lacks", async () => {
    const { application } = await documentedGrants();
    const { login, url } = await loginWith(database, application);
    await asAdmin(`revoke delete on amends.saga_interests from ${login}`, await database.place());
    const amends = await database.amends({
      database: postgres({ url, connections: 3 }),
      sagas: [mailing(() => 1)],
    });
    await expect(amends.worker().start()).rejects.toMatchObject({
      code: "DATABASE_FORBIDDEN",
      message: expect.stringMatching(
        /lacks rights that sagas needs: delete on amends.saga_interests/,
      ) as unknown,
    });
  });
});
