/** Bulk actions on abandoned outbox entries and on dead webhook deliveries; retention, and what a worker without any sends. */
import { Amends } from "amends";
import { defineCall } from "amends/calls";
import { DatabaseAuditSink } from "amends/audit";
import { dataMap, ResolverError } from "amends/erasure";
import { testKit, virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { listActions } from "../../src/audit/action-queries.ts";
import { toAction } from "../../src/audit/rows.ts";
import type { RecordedAction } from "../../src/core/action.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { isLook, traffic } from "../operate/support/traffic.ts";
import { eraser } from "../outbox/support/systems.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { failed, stage } from "../webhooks/support/stage.ts";
import { NOTE, ordering, scene } from "./support/scene.ts";

async function recorded(db: Database, target: string): Promise<readonly RecordedAction[]> {
  return (await db.query(listActions(db.dialect, { limit: 100, target }))).map(toAction);
}

/** Two kinds of calls that are abandoned at their first attempt while the world is down. */
async function calling(database: TestDatabase) {
  const clock = virtualClock();
  const world = { isDown: true, made: [] as string[] };
  const call = (name: string) =>
    defineCall(name, {
      schema: z.object({ to: z.string() }),
      retry: { attempts: 1 },
      handle: ({ to }) => {
        if (world.isDown) throw to === "ben" ? new TypeError("down") : new RangeError("down");
        world.made.push(to);
      },
    });
  const [mail, text] = [call("mail"), call("text")];
  const amends = await database.amends({ calls: [mail, text], clock });
  const enqueue = async (of: typeof mail, to: string): Promise<string> => {
    clock.jump(1_000);
    return (await amends.calls.enqueue(of, { to })).entryId;
  };
  const work = async (): Promise<void> => {
    do clock.jump(10);
    while ((await amends.worker().runOnce()) > 0);
  };
  return { clock, world, mail, text, amends, enqueue, work, db: amends.context.database };
}

onEachDatabase((database) => {
  it("[S-43] requeue takes abandoned calls by name, error and time, and each is made again under its id", async () => {
    const { amends, clock, world, mail, text, enqueue, work, db } = await calling(database);
    const ann = await enqueue(mail, "ann");
    await enqueue(text, "cid");
    const ben = await enqueue(mail, "ben");
    const dan = await enqueue(mail, "dan");
    await work();
    const count = async (filter: object): Promise<number> =>
      (await amends.bulk.preview({ action: "requeue", ...filter })).count;
    expect(await count({ status: "abandoned" })).toBe(4);
    expect(await count({ name: "mail" })).toBe(3);
    expect(await count({ name: "mail", error: "TypeError" })).toBe(1);
    expect(await count({ error: "RangeError", since: new Date(clock.virtualNowMs() - 2_500) })).toBe(2);
    expect(await count({ status: "abandoned", kind: "erasure" })).toBe(0);
    world.isDown = false;
    const { id } = await amends.bulk.start({ action: "requeue", name: "mail", error: "RangeError", ...NOTE });
    await work();
    expect(await amends.bulk.get(id)).toMatchObject({
      status: "completed",
      kind: "call",
      done: 2,
      refused: 0,
    });
    expect(world.made.toSorted()).toEqual(["ann", "dan"]);
    for (const entry of [ann, dan])
      expect(await recorded(db, entry)).toMatchObject([
        { id: `bulk:${id}:${entry}`, action: "requeue", target: { kind: "call" }, outcome: "done", ...NOTE },
      ]);
    const again = await amends.bulk.start({ action: "requeue", ids: [ann, ben], ...NOTE });
    await work();
    expect(await amends.bulk.get(again.id)).toMatchObject({
      done: 1,
      refusals: [{ id: ann, code: "NOT_ALLOWED_NOW" }],
    });
  });

  it("[S-43] an entry that was tried again after the start, or enqueued after it, is not taken", async () => {
    const { amends, world, mail, enqueue, work, clock } = await calling(database);
    const [first, second] = [await enqueue(mail, "ann"), await enqueue(mail, "ben")];
    await work();
    const { id } = await amends.bulk.start({ action: "requeue", status: "abandoned", ...NOTE });
    clock.jump(1_000);
    await amends.calls.requeue([second], { reason: "by hand" });
    const third = await enqueue(mail, "cid");
    for (let step = 0; step < 3; step++) await amends.calls.runOnce();
    expect(await amends.calls.listAbandoned()).toMatchObject({
      entries: [{ entryId: first }, { entryId: second }, { entryId: third }],
    });
    world.isDown = false;
    await work();
    expect(await amends.bulk.get(id)).toMatchObject({ status: "completed", done: 1, refused: 0 });
    expect(world.made).toEqual(["ann"]);
  });

  it("[S-43] among many entries that do not fit, those that do are found page by page", async () => {
    const { amends, mail, enqueue, work, db, world } = await calling(database);
    const [first, last] = [await enqueue(mail, "ann"), await enqueue(mail, "ben")];
    await work();
    // The last one was enqueued behind 1,200 others.
    const table = db.dialect.table("outbox");
    const at = (ms: number) => db.dialect.plusMs(raw("enqueued_at"), ms);
    const hex = db.dialect.pick({
      postgres: sql`cast(gen_random_uuid() as text)`,
      sqlite: sql`lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))`,
    });
    const id = db.dialect.pick({ postgres: sql`cast(${hex} as uuid)`, sqlite: hex });
    await db.query(sql`update ${table} set enqueued_at = ${at(60_000)} where entry_id = ${last}`);
    await db.query(sql`insert into ${table} (entry_id, kind, name, lane, status, attempts, last_error, enqueued_at)
      with recursive r(n) as (select 1 union all select n + 1 from r where n < 1200)
      select ${id}, 'call', 'other', 'other', 'abandoned', 1, 'Error', ${db.dialect.instantOf(sql`1000.0 + r.n`)} from r`);
    await db.query(
      sql`update ${table} set enqueued_at = ${db.dialect.instantOf(0)} where entry_id = ${first}`,
    );
    expect(await amends.bulk.preview({ action: "requeue", name: "mail" })).toMatchObject({
      count: 2,
      exact: true,
    });
    world.isDown = false;
    const started = await amends.bulk.start({ action: "requeue", name: "mail", ...NOTE });
    await work();
    expect(await amends.bulk.get(started.id)).toMatchObject({ status: "completed", done: 2 });
    expect(world.made.toSorted()).toEqual(["ann", "ben"]);
  });

  it("[S-43] erasures are requeued by a worker that erases, with an audit event for each; others leave them", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await db.query(raw("create table users (id integer primary key)"));
    let isDown = true;
    const stripe = eraser("stripe", async () => {
      if (isDown) throw new ResolverError("no_access");
      return {};
    });
    const erasure = {
      dataMap: dataMap({ users: { subject: "id" } }),
      resolvers: [stripe],
      audit: new DatabaseAuditSink(db),
    };
    const amends = await database.amends({ database: db, erasure });
    const [entry] = (await db.transaction((_session, tx) =>
      amends.erasure.outbox.enqueue(tx, [
        { subjectId: "u-1", resolver: "stripe", ref: { kind: "stripe", value: "cus_1" } },
      ]),
    )) as [string];
    await amends.worker().runOnce();
    expect((await amends.erasure.outbox.listAbandoned()).entries).toHaveLength(1);
    isDown = false;
    const plain = await database.amends({ database: await database.open({ clock }) });
    const { id } = await plain.bulk.start({
      action: "requeue",
      kind: "erasure",
      status: "abandoned",
      ...NOTE,
    });
    await plain.worker().runOnce();
    expect(await plain.bulk.get(id)).toMatchObject({ status: "running", done: 0, total: 1 });
    await amends.worker().runOnce();
    expect(await plain.bulk.get(id)).toMatchObject({ status: "completed", done: 1 });
    expect(await recorded(db, entry)).toMatchObject([{ action: "requeue", outcome: "done", ...NOTE }]);
    const events = await amends.erasure.trail("u-1");
    expect(events.filter(({ type }) => type === "ERASURE_REQUEUED")).toMatchObject([
      { payload: { entry_id: entry, ...NOTE } },
    ]);
    const again = await plain.bulk.start({ action: "requeue", kind: "erasure", ids: [entry], ...NOTE });
    await amends.worker().runOnce();
    expect(await plain.bulk.get(again.id)).toMatchObject({ done: 0, refused: 1 });
  });

  it("[S-43] resend sends dead deliveries again as new ones, by subscription, error and time; what would fail at once is refused", async () => {
    const { amends, subscribe, publish, work, world, clock, db } = await stage(database, {
      retry: { attempts: 1 },
    });
    world.answer = ({ url }) => failed(url.includes("//a.") ? "http_503" : "http_500");
    const a = await subscribe("a", { id: "acme-orders" });
    const b = await subscribe("b");
    await publish("order.placed", { id: "e-1" });
    await work();
    clock.jump(1_000);
    await publish("order.placed", { id: "e-2" });
    await work();
    const dead = await amends.webhooks.deadLetters();
    expect(dead).toHaveLength(4);
    const count = async (filter: object): Promise<number> =>
      (await amends.bulk.preview({ action: "resend", ...filter })).count;
    expect(await count({ status: "DeadLettered" })).toBe(4);
    expect(await count({ subscription: "acme-orders" })).toBe(2);
    expect(await count({ error: "http_500" })).toBe(2);
    expect(await count({ until: new Date(clock.virtualNowMs() - 500) })).toBe(2);
    await expect(amends.bulk.preview({ action: "resend", subscription: "nobody" })).rejects.toMatchObject({
      code: "WEBHOOK_NOT_FOUND",
    });
    await amends.webhooks.unsubscribe(b);
    world.answer = () => ({});
    const { id } = await amends.bulk.start({ action: "resend", status: "DeadLettered", ...NOTE });
    clock.jump(10);
    await work();
    expect(await amends.bulk.get(id)).toMatchObject({
      status: "completed",
      kind: "delivery",
      done: 2,
      refused: 2,
      refusals: [{ code: "NOT_ALLOWED_NOW" }, { code: "NOT_ALLOWED_NOW" }],
    });
    expect(
      world.sent
        .slice(4)
        .map(({ id: sent }) => sent)
        .toSorted(),
    ).toEqual(["e-1", "e-2"]);
    const ofA = dead.filter(({ subscriptionId }) => subscriptionId === a);
    for (const { deliveryId } of ofA)
      expect(await recorded(db, deliveryId)).toMatchObject([
        { action: "resend", target: { kind: "delivery" }, outcome: "done", ...NOTE },
      ]);
    const arrived = (await amends.webhooks.deliveries({ status: "Completed" }))[0]?.id as string;
    const other = await amends.bulk.start({ action: "resend", ids: [arrived, "999"], ...NOTE });
    await work();
    expect(await amends.bulk.get(other.id)).toMatchObject({
      done: 0,
      refusals: [
        { id: arrived, code: "NOT_ALLOWED_NOW" },
        { id: "999", code: "WEBHOOK_NOT_FOUND" },
      ],
    });
  });

  it("[S-43] retention removes bulk actions that have ended, and neither open ones nor the records of items", async () => {
    const {
      amends,
      add,
      clock,
      retryAll,
      recorded: onRecord,
    } = await scene(database, {
      retention: { bulk: "30d" },
    });
    await add(["s-1"]);
    const { id } = await retryAll();
    clock.jump(29 * 86_400_000);
    await amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id: "open" });
    expect(await amends.retention.runOnce()).toBe(0);
    clock.jump(2 * 86_400_000);
    expect(await amends.retention.runOnce()).toBe(1);
    await expect(amends.bulk.get(id)).rejects.toMatchObject({ code: "BULK_NOT_FOUND" });
    expect(await amends.bulk.get("open")).toMatchObject({ status: "running" });
    expect(await onRecord("s-1")).toHaveLength(1);
  });

  it("[S-43][K-24] a worker without bulk actions sends no statement for them beside its look", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const watched = traffic(db);
    const amends = await database.amends({ database: watched.database });
    await amends.worker({ only: ["bulk"] }).runOnce();
    watched.sent();
    await amends.worker({ only: ["bulk"] }).runOnce();
    const ours = watched.sent().filter((text) => text.includes("bulk_actions") && !isLook(text));
    expect(ours).toHaveLength(1);
  });

  it("[S-43] a run with a budget carries bulk actions out, and says when a lease of another worker ends", async () => {
    const { amends, add, world, clock, db } = await scene(database);
    await add(["s-1"]);
    world.isDown = false;
    const { id } = await amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE });
    const endsAt = clock.virtualNowMs() + 60_000;
    await db.query(
      sql`update ${db.dialect.table("bulk_actions")} set next_attempt_at = ${db.dialect.instantOf(endsAt)}`,
    );
    expect(await amends.worker().runOnce({ budget: "1m" })).toMatchObject({ nextAt: new Date(endsAt) });
    clock.jump(60_001);
    await amends.worker().runOnce({ budget: "1m" });
    expect(await amends.bulk.get(id)).toMatchObject({ status: "completed", done: 1 });
    expect(world.undone).toEqual(["s-1"]);
  });
});

it("[S-43][T-01] the test kit carries bulk actions out on virtual time", async () => {
  const world = { isDown: true, undone: [] as string[] };
  const order = ordering(world);
  const kit = await testKit((database) => new Amends({ database, sagas: [order] }));
  await kit.amends.start(order, {}, { id: "s-1" });
  await kit.runUntilIdle();
  expect(await kit.amends.bulk.preview({ action: "retry", saga: order })).toMatchObject({ count: 1 });
  world.isDown = false;
  const { id } = await kit.amends.bulk.start({ action: "retry", saga: order, ...NOTE });
  await kit.runUntilIdle();
  expect(await kit.amends.bulk.get(id)).toMatchObject({ status: "completed", done: 1 });
  expect(world.undone).toEqual(["s-1"]);
});
