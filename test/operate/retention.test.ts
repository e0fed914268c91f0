import { AmendsError, type Amends, saga, signal, type SagaView } from "amends";
import { DatabaseAuditSink } from "amends/audit";
import { Outbox, type NewOutboxEntry } from "amends/erasure";
import { expect, it } from "vitest";
import { z } from "zod";
import type { SagaDetail, SagaPage } from "../../src/console/contract.ts";
import { Retention, type RetentionOptions } from "../../src/operate/retention/retention.ts";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { openFlows } from "../console/support/flows.ts";
import { openShop } from "../console/support/shop.ts";
import { visit } from "../console/support/visit.ts";
import { onDatabase, onEachDatabase, virtualClock } from "../support/databases.ts";

const DAY_MS = 86_400_000;

/** Retention beside the Amends of a test, which nobody drives but the test. */
function retentionOn(amends: Amends, options: RetentionOptions): Retention {
  return new Retention(amends.context, options, (id) => amends.inspect(id));
}

onEachDatabase((database) => {
  it("[P-06] ended sagas go after their time, in batches, with their logs; what is open or stalled stays", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const shop = await openShop(database, { database: db });
    const { amends } = shop;
    for (const id of ["c-1", "c-2", "c-3"]) await shop.run("COMPLETED", id);
    await shop.run("FAILED", "f-1");
    await shop.run("STALLED", "s-1");
    await clock.advance(31 * DAY_MS);
    await shop.run("COMPLETED", "late");
    await amends.start(shop.order, { orderId: "p-1", end: "COMPLETED" }, { id: "p-1" });
    const kept: SagaView[] = [];
    const retention = retentionOn(amends, {
      sagas: { completed: "30d", failed: "60d", archive: (sagas) => void kept.push(...sagas) },
      batch: 2,
    });
    expect([await retention.runOnce(), await retention.runOnce(), await retention.runOnce()]).toEqual([
      2, 1, 0,
    ]);
    expect(kept.map(({ id }) => id)).toEqual(["c-1", "c-2", "c-3"]);
    const left = async (): Promise<string[]> => {
      const rows = await db.query(sql`select id from ${db.dialect.table("saga_executions")} order by id`);
      return rows.map((row) => row["id"] as string);
    };
    expect(await left()).toEqual(["f-1", "late", "p-1", "s-1"]);
    const logs = await db.query(
      sql`select distinct saga_id from ${db.dialect.table("saga_logs")} where saga_id in ('c-1', 'c-2', 'c-3')`,
    );
    expect(logs).toEqual([]);
    await clock.advance(31 * DAY_MS);
    expect(await retention.runOnce()).toBe(2);
    expect(await left()).toEqual(["p-1", "s-1"]);
  });

  it("[P-06][S-08][S-25] a saga that took the id of one that is being removed keeps its log and its signals", async () => {
    const go = signal("go", z.object({ n: z.number() }));
    let acts = 0;
    const order = saga("order", z.object({ n: z.number() }))
      .step("charge", { act: () => void acts++, compensate: () => undefined })
      .waitFor("told", { signal: go });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    const work = async (): Promise<void> => {
      while ((await amends.worker().runOnce()) > 0);
    };
    await amends.start(order, { n: 1 }, { id: "o-1" });
    await amends.signal("o-1", go, { n: 1 });
    await work();
    clock.jump(2 * DAY_MS);
    const quick = retentionOn(amends, { sagas: { completed: "1d" } });
    const slow = retentionOn(amends, {
      sagas: {
        completed: "1d",
        archive: async () => {
          expect(await quick.runOnce()).toBe(1);
          await amends.start(order, { n: 2 }, { id: "o-1" });
          await work();
          await amends.signal("o-1", go, { n: 2 });
        },
      },
    });
    expect(await slow.runOnce()).toBe(0);
    await work();
    expect([acts, (await amends.inspect("o-1"))?.status]).toEqual([2, "COMPLETED"]);
  });

  it("[P-06][K-17] a chore that fails keeps none of the others from theirs", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    const { amends } = shop;
    await shop.run("COMPLETED", "c-1");
    await shop.run("FAILED", "f-1");
    clock.jump(2 * DAY_MS);
    const archive = (sagas: readonly SagaView[]): void => {
      if (sagas.some(({ status }) => status === "COMPLETED")) throw new Error("the disk is full");
    };
    const retention = retentionOn(amends, { sagas: { completed: "1d", failed: "1d", archive } });
    await expect(retention.runOnce()).rejects.toThrow("the disk is full");
    expect((await amends.inspect("c-1"))?.status).toBe("COMPLETED");
    expect(await amends.inspect("f-1")).toBe(undefined);
  });

  it("[P-06] what could not be kept elsewhere is not removed", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    await shop.run("COMPLETED", "c-1");
    const archive = (): never => {
      throw new Error("the archive is full");
    };
    const retention = retentionOn(shop.amends, { sagas: { completed: "1d", archive } });
    await clock.advance(2 * DAY_MS);
    await expect(retention.runOnce()).rejects.toThrow("the archive is full");
    expect((await shop.amends.inspect("c-1"))?.status).toBe("COMPLETED");
  });

  it("[P-06] the worker sees to it by itself", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    await shop.run("COMPLETED", "c-1");
    await clock.advance(2 * DAY_MS);
    const tidy = await database.amends({ clock, retention: { sagas: "1d" } });
    await tidy.worker().runOnce();
    expect(await shop.amends.inspect("c-1")).toBeUndefined();
  });

  it("[P-06] a policy that says nothing, or too much, is refused", async () => {
    const { amends } = await openShop(database);
    for (const options of [
      {},
      { sagas: {} },
      { sagas: { archive: true } },
      { sagas: { completed: "0s" as const } },
      { flows: { failed: "0s" as const } },
      { outbox: { done: "-1s" as never } },
      { webhooks: "0s" as const },
      { webhooks: "1d" as const, batch: 0 },
      { webhooks: "1d" as const, role: "a; drop table" },
      { webhooks: "1d" as const, nonsense: 1 },
      { sagas: { completed: "1d" as const, nonsense: 1 } },
      { nonsense: 1 } as object,
    ]) {
      expect(() => retentionOn(amends, { ...options })).toThrow(AmendsError);
    }
  });

  it("[P-06] archived sagas leave the tables that work is done on, and are still found, marked, with all that happened", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const shop = await openShop(database, { database: db });
    for (const id of ["o-1", "o-2", "o-3"]) await shop.run("COMPLETED", id, "ada@example.com");
    await shop.run("FAILED", "o-4");
    const before = await visit(shop.amends).get<SagaDetail>("reader", "/api/sagas/o-4");
    await clock.advance(31 * DAY_MS);
    await shop.run("COMPLETED", "o-5");
    const { amends } = shop;
    const sagas = { completed: "30d", failed: "30d", archive: true, archived: "365d" } as const;
    const retention = retentionOn(amends, { sagas, batch: 2 });
    expect([await retention.runOnce(), await retention.runOnce(), await retention.runOnce()]).toEqual([
      3, 1, 0,
    ]);
    expect(await amends.inspect("o-1")).toBeUndefined();
    expect((await amends.archived("o-1"))?.view).toMatchObject({ status: "COMPLETED", actions: [] });
    const { get, post, as } = visit(amends);
    const list = async (query: string): Promise<SagaPage> => get<SagaPage>("reader", `/api/sagas?${query}`);
    const ids = async (query: string): Promise<string[]> => (await list(query)).items.map(({ id }) => id);
    expect(await ids("")).toEqual(["o-5", "o-4", "o-3", "o-2", "o-1"]);
    expect((await list("")).items.map(({ archivedAt }) => archivedAt !== null)).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(await ids("status=FAILED")).toEqual(["o-4"]);
    expect(await ids("status=RUNNING")).toEqual([]);
    expect(await ids("name=place-order&status=COMPLETED")).toEqual(["o-5", "o-3", "o-2", "o-1"]);
    expect(await ids("q=o-")).toEqual(["o-5", "o-4", "o-3", "o-2", "o-1"]);
    expect(await ids("q=o-3")).toEqual(["o-3"]);
    const seen: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const page: SagaPage = await list(`limit=2&after=${after}`);
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
    }
    expect(seen).toEqual(["o-5", "o-4", "o-3", "o-2", "o-1"]);
    const after = await get<SagaDetail>("reader", "/api/sagas/o-4");
    expect(after).toEqual({ ...before, archivedAt: after.archivedAt });
    expect(Date.parse(after.archivedAt ?? "")).toBeGreaterThan(Date.parse(after.updatedAt));
    const shown = await (await as("reader", "/api/sagas/o-1")).text();
    expect(shown).not.toContain("ada@example.com");
    const body = { kind: "saga", id: "o-1", reason: "a court asks" };
    expect(JSON.stringify(await post("revealer", "/api/reveal", body))).toContain("ada@example.com");
    // Its id is free again; what runs now is what is shown.
    await shop.run("STALLED", "o-1");
    expect(await get<SagaDetail>("reader", "/api/sagas/o-1")).toMatchObject({
      status: "STALLED",
      archivedAt: null,
    });
    expect((await ids("")).filter((id) => id === "o-1")).toHaveLength(1);
    await clock.advance(366 * DAY_MS);
    while ((await retention.runOnce()) > 0);
    expect(await amends.archived("o-2")).toBeUndefined();
    expect(await ids("")).toEqual(["o-5", "o-1"]);
  });

  it("[P-06] runs of event flows go after their time with the events that were sent for them; what is open or given up stays", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const scene = await openFlows(database, { database: db });
    const { amends } = scene;
    const done = [await scene.run("completed", "c-1"), await scene.run("completed", "c-2")];
    const failed = await scene.run("failed", "f-1");
    const stalled = await scene.run("stalled", "stalled-1");
    const given = await scene.giveUp();
    // Of a run that has ended, one event was given up: it still asks for a person.
    const outbox = db.dialect.table("outbox");
    const [kept] = await db.query(
      sql`update ${outbox} set status = 'abandoned' where name = 'Ready' and saga_id = ${done[0]} returning entry_id`,
    );
    await clock.advance(31 * DAY_MS);
    const late = await scene.run("completed", "c-3");
    const rows = async (): Promise<number> =>
      (await db.query(sql`select entry_id from ${db.dialect.table("outbox")}`)).length;
    const left = async (ids: readonly string[]): Promise<boolean[]> =>
      Promise.all(ids.map(async (id) => (await amends.events.inspect(id)) !== undefined));
    const before = await rows();
    const retention = retentionOn(amends, { flows: { completed: "30d", failed: "60d" }, batch: 1 });
    expect([await retention.runOnce(), await retention.runOnce(), await retention.runOnce()]).toEqual([
      1, 1, 0,
    ]);
    expect(await left([...done, failed, stalled, late])).toEqual([false, false, true, true, true]);
    expect(await rows()).toBe(before - 2 * 4 + 1);
    await clock.advance(31 * DAY_MS);
    while ((await retention.runOnce()) > 0);
    expect(await left([failed, stalled, late])).toEqual([false, true, false]);
    const { items } = await amends.attention.list();
    expect(items.map(({ id }) => id).toSorted()).toEqual(
      [stalled, given, kept?.["entry_id"] as string].toSorted(),
    );
    scene.mended.undo = true;
    await amends.events.retry(stalled, { reason: "it is free" });
    await scene.settle();
    expect((await amends.events.inspect(stalled))?.status).toBe("failed");
  });

  it("[P-06] what the outbox is done with goes after its time; what is open, blocks a request, or is shown by a run stays", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const scene = await openFlows(database, { database: db });
    const { amends } = scene;
    const outbox = new Outbox(db, { audit: new DatabaseAuditSink(db) });
    const entry = (subjectId: string, resolver: string, entryId?: string): NewOutboxEntry => ({
      subjectId,
      resolver,
      ref: { kind: resolver, value: "x" },
      ...(entryId !== undefined && { entryId }),
    });
    const chosen = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    await db.transaction((session) =>
      outbox.enqueueIn(session, [
        entry("u-1", "a"),
        entry("u-1", "b", chosen),
        entry("u-2", "a"),
        entry("u-2", "b"),
      ]),
    );
    for (const claimed of await outbox.claimBatch()) {
      if (claimed.subjectId === "u-2" && claimed.resolver === "b")
        await outbox.markAbandoned(claimed, { error: "No" });
      else await outbox.markSucceeded(claimed);
    }
    scene.mended.notice = true;
    await scene.giveUp();
    const run = await scene.run("completed", "c-1");
    const names = async (): Promise<string[]> => {
      const rows = await db.query(
        sql`select name, coalesce(subject_id, handler, '') as whose from ${db.dialect.table("outbox")} order by 1, 2`,
      );
      return rows.map((row) => `${row["name"] as string} ${row["whose"] as string}`.trim());
    };
    const all = await names();
    const retention = retentionOn(amends, { outbox: { done: "30d", untaken: "60d" }, batch: 2 });
    const sweep = async (): Promise<number> => {
      let removed = 0;
      // A whole round, and one more: it goes on where it stopped.
      for (let look = 0; look < 2 * all.length; look++) removed += await retention.runOnce();
      return removed;
    };
    expect(await sweep()).toBe(0);
    await clock.advance(31 * DAY_MS);
    expect(await sweep()).toBe(3);
    // Both of u-1 and the notice that was taken; not what u-2 still waits for, nor what the run shows.
    const left = await names();
    expect(left).toEqual(all.filter((name) => !["a u-1", "b u-1", "Noticed TakeNotice"].includes(name)));
    await clock.advance(31 * DAY_MS);
    expect(await sweep()).toBe(1);
    expect(await names()).toEqual(left.filter((name) => name !== "NoticeTaken"));
    expect((await amends.events.inspect(run))?.events).toHaveLength(4);
  });

  it("[P-06] one policy sees to webhooks as well, and the worker drives all of it", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const retention = { webhooks: "1d", outbox: "1d" } as const;
    const amends = await database.amends({ database: db, webhooks: {}, retention });
    await db.transaction(async (_session, tx) =>
      amends.webhooks.publish({ type: "order.placed", data: {} }, { tx }),
    );
    await clock.advance(2 * DAY_MS);
    await amends.worker().runOnce();
    expect(await amends.retention.runOnce()).toBe(0);
    expect(await db.query(sql`select id from ${db.dialect.table("webhook_events")}`)).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it("[P-06] it removes by the role that may, and that role may nothing else", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const shop = await openShop(database, { database: db });
    await migrate(db, { roles: true });
    await shop.run("COMPLETED", "o-1");
    await clock.advance(2 * DAY_MS);
    const { amends } = shop;
    const policy = {
      sagas: { completed: "1d", archive: true },
      flows: { completed: "1d" },
      outbox: { done: "1d" },
      webhooks: "1d",
    } as const;
    const stranger = retentionOn(amends, { ...policy, role: "amends_webhook_reader" });
    await expect(stranger.runOnce()).rejects.toMatchObject({ code: "DATABASE_FORBIDDEN" });
    expect((await amends.inspect("o-1"))?.status).toBe("COMPLETED");
    const retention = retentionOn(amends, { ...policy, role: "amends_retention" });
    expect(await retention.runOnce()).toBe(1);
    expect((await amends.archived("o-1"))?.view.status).toBe("COMPLETED");
    const forbidden = db.transaction(async (session) => {
      await session.query(raw("set local role amends_retention"));
      await session.query(sql`update ${db.dialect.table("saga_archive")} set name = 'x'`);
    });
    await expect(forbidden).rejects.toThrow(/permission denied/);
  });
});

onDatabase("sqlite", (database) => {
  it("[P-06] a role is refused where there are none", async () => {
    const amends = await database.amends({});
    expect(() => retentionOn(amends, { webhooks: "1d", role: "amends_retention" })).toThrow(AmendsError);
  });
});
