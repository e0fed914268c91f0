/** A worker looks for work once for all of its duties, and every duty does its work whatever becomes of the look. */
import { saga } from "amends";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event, handler, ok } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase, virtualClock } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { isLook, traffic, type Traffic } from "./support/traffic.ts";

const nothing = z.object({});
const Paid = event("Paid", nothing);
const Noted = event("Noted", nothing);
const NotNoted = event("NotNoted", nothing);

/** Every part of Amends, and what was done by each. */
function everyPart(done: string[] = []) {
  const order = saga("order", nothing).step("one", { act: () => void done.push("saga") });
  const mail = defineCall("mail", { schema: nothing, handle: () => void done.push("call") });
  const note = handler("note", {
    on: Paid,
    ok: Noted,
    err: NotNoted,
    handle: () => {
      done.push("event");
      return ok(Noted({}));
    },
  });
  const options = {
    sagas: [order],
    calls: [mail],
    events: [note],
    webhooks: {},
    erasure: { dataMap: dataMap({ users: { subject: "id" } }) },
    retention: { sagas: "90d" },
  } as const;
  return { order, mail, options };
}

const STEP_MS = 100;

onEachDatabase((database) => {
  it("[K-24] an idle worker with every part sends one statement for each look", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await db.query(raw("create table users (id integer primary key)"));
    const watched = traffic(db);
    const amends = await database.amends({ database: watched.database, ...everyPart().options });
    await database.worker(amends, { poll: "1s" });
    const pass = async (ms: number): Promise<readonly string[]> => {
      for (let passed = 0; passed < ms; passed += STEP_MS) {
        await clock.advance(STEP_MS);
        await until(() => watched.underWay === 0);
      }
      return watched.sent();
    };
    await pass(2_000); // it has begun, and has found nothing
    const sent = await pass(30_000);
    const looks = sent.filter(isLook);
    expect(looks.length).toBeGreaterThan(0);
    expect(looks.length).toBeLessThanOrEqual(30 / 0.8);
    // Only the worker's sign of life is sent beside the looks, with that of its handlers, twice in 30 seconds.
    const others = sent.filter((text) => !isLook(text));
    expect(others.filter((text) => !/insert into \S*(?:workers|event_handlers)/.test(text))).toEqual([]);
    expect(others.length).toBeLessThanOrEqual(4);
  });

  it("[K-24] a worker that hears notices looks five times as rarely once it is quiet, until it hears no more", async () => {
    const clock = virtualClock();
    let [notice, hears]: [() => void, (isHearing: boolean) => void] = [() => undefined, () => undefined];
    const watched = traffic(
      await database.open({ clock }),
      () => undefined,
      (onNotice, onHearing = () => undefined) => {
        [notice, hears] = [onNotice, onHearing];
        return () => undefined;
      },
    );
    const { mail } = everyPart();
    const amends = await database.amends({ database: watched.database, calls: [mail] });
    await database.worker(amends, { only: ["calls"], poll: "1s" });
    const looksWithin = async (ms: number): Promise<number> => {
      for (let passed = 0; passed < ms; passed += STEP_MS) {
        await clock.advance(STEP_MS);
        await until(() => watched.underWay === 0);
      }
      return watched.sent().filter(isLook).length;
    };
    expect(await looksWithin(30_000)).toBeGreaterThanOrEqual(30 / 1.2 - 1);
    hears(true);
    expect(await looksWithin(30_000)).toBeLessThanOrEqual(30 / (5 * 0.8) + 1);
    notice(); // five looks of one poll each
    expect(await looksWithin(12_000)).toBeGreaterThanOrEqual(5);
    await looksWithin(6_000);
    hears(false);
    expect(await looksWithin(30_000)).toBeGreaterThanOrEqual(30 / 1.2 - 1);
  });

  it("[K-24] work of another process whose notice is lost is found by the look", async () => {
    const done: string[] = [];
    const { order, mail, options } = everyPart(done);
    const worker = await database.amends({ database: traffic(await database.open()).database, ...options });
    await database.worker(worker, { poll: "20ms" });
    const other = await database.amends(options);
    await other.start(order, {});
    await other.calls.enqueue(mail, {});
    await other.events.publish(Paid({}));
    await until(() => done.length === 3);
    expect(done.toSorted()).toEqual(["call", "event", "saga"]);
  });

  it("[K-24] work that becomes due between two looks begins when it is due", async () => {
    const clock = virtualClock();
    const done: string[] = [];
    const { order, mail, options } = everyPart(done);
    const other = await database.amends({ clock, ...options });
    await other.start(order, {}, { delay: "7s" });
    await other.calls.enqueue(mail, {}, { delay: "7s" });
    const watched = traffic(await database.open({ clock }));
    const worker = await database.amends({ database: watched.database, ...options });
    await database.worker(worker, { poll: "5s" });
    await until(() => watched.underWay === 0 && watched.sent().some(isLook));
    const lastMs = clock.virtualNowMs() + 7_600;
    while (clock.virtualNowMs() < lastMs) {
      await clock.advance(STEP_MS);
      await until(() => watched.underWay === 0);
    }
    await expect.poll(() => done.length).toBe(2);
  });

  it("[K-24] a look that fails holds up no duty", async () => {
    const done: string[] = [];
    const { order, mail, options } = everyPart(done);
    const watched = traffic(await database.open(), (text) => {
      if (isLook(text)) throw new Error("no");
    });
    const worker = await database.amends({ database: watched.database, ...options });
    await database.worker(worker, { poll: "20ms" });
    const other = await database.amends(options);
    await other.start(order, {});
    await other.calls.enqueue(mail, {});
    await expect.poll(() => done.length).toBe(2);
  });

  it("[K-24] a part whose table is gone does not keep the others from their work, and works again once it is back", async () => {
    const done: string[] = [];
    const { order, mail, options } = everyPart(done);
    const db = await database.open();
    const worker = await database.amends({ database: traffic(db).database, ...options });
    const other = await database.amends({ sagas: options.sagas });
    await database.worker(worker, { poll: "20ms" });
    const away = db.dialect.pick({ postgres: raw("outbox_away"), sqlite: raw("amends_outbox_away") });
    await db.query(sql`alter table ${db.dialect.table("outbox")} rename to ${away}`);
    await other.start(order, {});
    await until(() => done.includes("saga"));
    const home = db.dialect.pick({ postgres: raw("outbox"), sqlite: raw("amends_outbox") });
    const gone = db.dialect.table("outbox_away");
    await db.query(sql`alter table ${gone} rename to ${home}`);
    await worker.calls.enqueue(mail, {});
    await expect.poll(() => done).toContain("call");
  });

  it("[K-24] a worker that the database has left finds work once it is back", async () => {
    const done: string[] = [];
    const { order, options } = everyPart(done);
    let isAway = false;
    const watched = traffic(await database.open(), () => {
      if (isAway) throw Object.assign(new Error("gone"), { code: lost(watched.database) });
    });
    const worker = await database.amends({ database: watched.database, ...options });
    await database.worker(worker, { poll: "20ms" });
    isAway = true;
    const other = await database.amends({ sagas: options.sagas });
    await other.start(order, {});
    let looks = 0;
    await until(() => (looks += watched.sent().filter(isLook).length) > 1);
    expect(done).toEqual([]);
    isAway = false;
    await expect.poll(() => done).toContain("saga");
  });

  it("[K-24] a duty whose claim failed tries again with the next poll, also if nothing is due", async () => {
    let isRefused = true;
    const watched = traffic(await database.open(), (text) => {
      if (isRefused && text.startsWith("with pick_0")) throw new Error("no");
    });
    const { mail } = everyPart();
    const amends = await database.amends({ database: watched.database, calls: [mail] });
    const worker = await database.worker(amends, { only: ["calls"], poll: "20ms" });
    await until(() => worker.health?.failing.length === 1);
    isRefused = false;
    await expect.poll(() => worker.health?.failing).toEqual([]);
  });

  it("[K-24] a duty claims once a minute, also if its look finds nothing", async () => {
    const clock = virtualClock();
    const watched: Traffic = traffic(await database.open({ clock }));
    const { mail } = everyPart();
    const amends = await database.amends({ database: watched.database, calls: [mail] });
    await database.worker(amends, { only: ["calls"] });
    await until(() => watched.sent().some(isLook));
    let claims = 0;
    for (let passed = 0; passed < 75_000; passed += 1_000) {
      await clock.advance(1_000);
      await until(() => watched.underWay === 0);
      claims += watched.sent().filter((text) => text.startsWith("with pick_0")).length;
    }
    expect(claims).toBe(1);
  });
});

/** The code of a lost connection; a locked file on SQLite. */
function lost({ dialect }: Pick<Database, "dialect">): string {
  return dialect.pick({ postgres: "57P01", sqlite: "SQLITE_BUSY" });
}

onDatabase("postgres", (database) => {
  it("[K-24] a look that waits for a lock on one part's table keeps the others for no longer than 2 seconds", async () => {
    const done: string[] = [];
    const { order, options } = everyPart(done);
    const db = await database.open();
    const worker = await database.amends({ database: traffic(await database.open()).database, ...options });
    await database.worker(worker, { poll: "20ms" });
    const other = await database.amends({ sagas: options.sagas });
    await db.transaction(async (session) => {
      await session.query(raw("lock table amends.outbox in access exclusive mode"));
      await other.start(order, {});
      await expect.poll(() => done, { timeout: 10_000 }).toContain("saga");
    });
  });
});
