/** From the request to the end: other systems, generations, retention, deadlines. */
import { Amends } from "amends";
import { memoryResolver, virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import { movePeopleIn, openShop, shopMap } from "./support/shop.ts";

const DAY_MS = 86_400_000;
const SEQUENCE = ["ERASURE_REQUESTED", "ERASURE_STEP_SKIPPED", "ERASURE_LOCAL_COMPLETED"];

onEachDatabase((database) => {
  it("[E-04] a ref goes to the resolver of its kind, several make several entries, and who has none is skipped on record", async () => {
    const [stripe, crm] = [memoryResolver("stripe"), memoryResolver("crm")];
    const shop = await openShop(database, { resolvers: [stripe, crm] });
    await movePeopleIn(shop, database.name);
    const refs = [
      { kind: "stripe", value: "cus_1" },
      { kind: "stripe", value: "cus_2" },
      { kind: "stripe", value: "cus_1" },
    ];
    const report = await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", refs, { tx }));
    expect(report).toMatchObject({
      entries: [{ resolver: "stripe" }, { resolver: "stripe" }],
      skipped: ["crm"],
      completed: false,
    });
    expect(await shop.trail("ann")).toEqual(SEQUENCE);
    expect((await shop.erasure.trail("ann"))[1]?.payload).toEqual({
      resolver: "crm",
      reason: "no ref was given",
    });
    stripe.put("cus_1");
    await shop.amends.worker().runOnce();
    expect(
      stripe.calls
        .filter(({ operation }) => operation === "erase")
        .map(({ ref }) => ref.value)
        .toSorted(),
    ).toEqual(["cus_1", "cus_2"]);
    expect(crm.calls).toEqual([]);
    expect((await shop.trail("ann")).at(-1)).toMatch(/ERASURE_(COMPLETED|EXTERNAL_VERIFIED)/);
    expect(await shop.trail("ann")).toContain("ERASURE_COMPLETED");
  });

  it("[E-07] a second erasure is a success: a new generation, new entries, a second sequence on record", async () => {
    const stripe = memoryResolver("stripe");
    const shop = await openShop(database, { resolvers: [stripe, memoryResolver("crm")] });
    await movePeopleIn(shop, database.name);
    const refs = [{ kind: "stripe", value: "cus_1" }];
    const erase = (): ReturnType<typeof shop.erasure.eraseSubject> =>
      shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", refs, { tx }));
    const first = await erase();
    const second = await erase();
    expect([first.generation, second.generation]).toEqual([1, 2]);
    expect(second.entries[0]?.entryId).not.toBe(first.entries[0]?.entryId);
    const rows = await shop.db.query(sql`select generation from ${shop.db.dialect.table("outbox")}`);
    expect(new Set(rows.map((row) => row["generation"]))).toEqual(new Set([1, 2]));
    expect(second).toMatchObject({ deleted: { messages: 0 }, anonymized: { users: 1 } });
    expect(await shop.trail("ann")).toEqual([...SEQUENCE, ...SEQUENCE]);
    await shop.amends.worker().runOnce();
    const done = (await shop.trail("ann")).filter((type) => type === "ERASURE_COMPLETED");
    expect(done).toHaveLength(1);
    const nobody = await shop.own.transaction((tx) => shop.erasure.eraseSubject("nobody", [], { tx }));
    expect(nobody).toMatchObject({
      deleted: { messages: 0 },
      anonymized: { users: 0, orders: 0 },
      completed: true,
    });
  });

  it("[O-15] an erasure that reaches no other system is complete with its transaction, unless an older one waits", async () => {
    const stripe = memoryResolver("stripe");
    const shop = await openShop(database, { resolvers: [stripe] });
    await movePeopleIn(shop, database.name);
    const erase = (subjectId: string, ...values: string[]): ReturnType<typeof shop.erasure.eraseSubject> =>
      shop.own.transaction((tx) =>
        shop.erasure.eraseSubject(
          subjectId,
          values.map((value) => ({ kind: "stripe", value })),
          { tx },
        ),
      );
    expect((await erase("ben")).completed).toBe(true);
    expect((await shop.trail("ben")).at(-1)).toBe("ERASURE_COMPLETED");
    await erase("ann", "cus_1");
    expect((await erase("ann")).completed).toBe(false);
    expect(await shop.trail("ann")).not.toContain("ERASURE_COMPLETED");
    await shop.amends.worker().runOnce();
    expect(await shop.trail("ann")).toContain("ERASURE_COMPLETED");
  });

  it("[E-02][E-03] what is retained stays until its time is over by the database's calendar, and then a later erasure takes it", async () => {
    const clock = virtualClock(Date.UTC(2030, 0, 31, 12));
    const shop = await openShop(database, { clock });
    const placed = database.name === "postgres" ? "'2030-01-31T00:00:00Z'" : String(Date.UTC(2030, 0, 31));
    await shop.own.exec(`insert into users values ('ann', 'a@x', 'ann', '');
      insert into orders values ('o1', 'ann', 100, ${placed}, 'ann billed', 'n'), ('o2', 'ann', 100, null, 'ann unplaced', 'n')`);
    const erase = (): ReturnType<typeof shop.erasure.eraseSubject> =>
      shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
    const report = await erase();
    expect(report.retained).toMatchObject([
      { table: "orders", column: "billing_name", rows: 2, until: new Date(Date.UTC(2040, 0, 31)) },
    ]);
    expect((await shop.erasure.trail("ann"))[1]?.payload).toMatchObject({
      generation: 1,
      "anonymized.orders": 2,
      "retained.orders.billing_name": 2,
      "retained.orders.billing_name.until": "2040-01-31T00:00:00.000Z",
      "retained.orders.billing_name.legal_basis": "tax law",
    });
    expect(await shop.erasure.verifySubject("ann")).toMatchObject({ clean: true, retained: [{ rows: 2 }] });
    expect(await shop.erasure.released()).toEqual([]);

    clock.jump(Date.UTC(2040, 0, 31) - clock.virtualNowMs() - 1);
    expect((await erase()).retained).toMatchObject([{ rows: 2 }]);
    clock.jump(1);
    expect(await shop.erasure.released()).toEqual(["ann"]);
    expect((await shop.erasure.verifySubject("ann")).left).toEqual([
      { table: "orders", column: "billing_name", rows: 1 },
    ]);
    const last = await erase();
    // A row without an anchor has not begun to count.
    expect(last.retained).toMatchObject([{ rows: 1, until: undefined }]);
    expect(await shop.own.rows("select id, billing_name from orders order by id")).toEqual([
      { id: "o1", billing_name: "erased" },
      { id: "o2", billing_name: "ann unplaced" },
    ]);
    expect(await shop.erasure.released()).toEqual([]);
  });

  it("[E-02] a month after the 31st of January is the last of February, on either database", async () => {
    const clock = virtualClock(Date.UTC(2031, 0, 31));
    const shop = await openShop(database, { clock, resolvers: [memoryResolver("stripe")] });
    const refs = [{ kind: "stripe", value: "cus_1" }];
    await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", refs, { tx }));
    clock.jump(Date.UTC(2031, 2, 1) - clock.virtualNowMs());
    expect((await shop.erasure.overdue()).erasures).toMatchObject([
      { dueAt: new Date(Date.UTC(2031, 1, 28)) },
    ]);
  });

  it("[E-11] the overdue report names what keeps an erasure, past its deadline and not before", async () => {
    const clock = virtualClock();
    const [stripe, crm] = [memoryResolver("stripe"), memoryResolver("crm")];
    const shop = await openShop(database, { clock, resolvers: [stripe, crm], retry: { attempts: 1 } });
    await movePeopleIn(shop, database.name);
    const refs = [
      { kind: "stripe", value: "cus_1" },
      { kind: "crm", value: "secret-ref" },
    ];
    for (const subjectId of ["ann", "ben"])
      await shop.own.transaction((tx) =>
        shop.erasure.eraseSubject(subjectId, subjectId === "ann" ? refs : [], { tx }),
      );
    crm.goDown();
    await shop.amends.worker().runOnce();
    clock.jump(30 * DAY_MS);
    expect((await shop.erasure.overdue()).erasures).toEqual([]);
    expect((await shop.erasure.overdue({ deadline: "30d" })).erasures).toHaveLength(1);
    clock.jump(DAY_MS);
    const { erasures, next } = await shop.erasure.overdue();
    expect(next).toBeUndefined();
    expect(erasures).toMatchObject([
      {
        subjectId: "ann",
        localFailed: false,
        blocking: [{ resolver: "crm", status: "abandoned", attempts: 1, lastError: "SystemDown" }],
      },
    ]);
    expect(JSON.stringify(erasures)).not.toContain("secret-ref");
    const { items } = await shop.amends.attention.list();
    expect(items).toMatchObject([
      {
        kind: "abandoned-entry",
        subjectId: "ann",
        name: "crm",
        reason: "for ann: crm did not erase: SystemDown, 1 attempt",
        actions: ["requeue", "resolve"],
      },
      { kind: "overdue-erasure", id: "ann", reason: "crm is abandoned" },
    ]);
    const pages = await shop.amends.attention.list({ limit: 1 });
    expect((await shop.amends.attention.list({ limit: 1, after: pages.next as string })).items).toMatchObject(
      [{ kind: "overdue-erasure" }],
    );

    crm.comeBack();
    await shop.erasure.outbox.requeue([erasures[0]?.blocking[0]?.entryId as string], {
      reason: "crm is back",
    });
    await shop.amends.worker().runOnce();
    expect((await shop.erasure.overdue()).erasures).toEqual([]);
    expect((await shop.amends.attention.list()).items).toEqual([]);
    expect(await shop.trail("ann")).toContain("ERASURE_COMPLETED");
  });

  it("[E-11][E-06] an erasure that failed in the own tables is overdue too, until one succeeds", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    await shop.own.exec("alter table users rename column name to full_name");
    await expect(
      shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx })),
    ).rejects.toMatchObject({
      code: "DATA_MAP_MISFIT",
    });
    await shop.erasure.recorded();
    clock.jump(32 * DAY_MS);
    expect((await shop.erasure.overdue()).erasures).toMatchObject([
      { subjectId: "ann", localFailed: true, blocking: [] },
    ]);
    expect((await shop.amends.attention.list()).items).toMatchObject([
      { kind: "overdue-erasure", reason: "the erasure in the own tables failed" },
    ]);
    await shop.own.exec("alter table users rename column full_name to name");
    await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
    expect((await shop.erasure.overdue()).erasures).toEqual([]);
  });

  it("[E-11] the overdue report is read page by page, the oldest request first", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock, resolvers: [memoryResolver("crm")] });
    for (const subjectId of ["s3", "s1", "s2"]) {
      await shop.own.transaction((tx) =>
        shop.erasure.eraseSubject(subjectId, [{ kind: "crm", value: subjectId }], { tx }),
      );
      clock.jump(1_000);
    }
    clock.jump(40 * DAY_MS);
    const first = await shop.erasure.overdue({ limit: 2 });
    const second = await shop.erasure.overdue({ limit: 2, after: first.next as string });
    expect([...first.erasures, ...second.erasures].map(({ subjectId }) => subjectId)).toEqual([
      "s3",
      "s1",
      "s2",
    ]);
    await expect(shop.erasure.overdue({ after: "garbage" })).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(shop.erasure.overdue({ limit: 0 })).rejects.toMatchObject({ code: "BAD_OPTION" });
  });

  it("[E-11] a read-back counts what is left, by table and column", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    expect(await shop.erasure.verifySubject("ann")).toMatchObject({
      clean: false,
      left: [
        { table: "users", column: "email", rows: 1 },
        { table: "users", column: "name", rows: 1 },
        { table: "messages", column: undefined, rows: 2 },
        { table: "orders", column: "note", rows: 2 },
        { table: "orders", column: "billing_name", rows: 1 },
      ],
      retained: [{ rows: 1 }],
    });
    await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
    expect(await shop.erasure.verifySubject("ann")).toMatchObject({ clean: true, left: [] });
    await shop.own.exec("update users set name = 'ann is back' where id = 'ann'");
    expect((await shop.erasure.verifySubject("ann")).left).toEqual([
      { table: "users", column: "name", rows: 1 },
    ]);
  });

  it("[K-11] one connection is enough for all of it, the record of a failure included", async () => {
    const stripe = memoryResolver("stripe");
    const shop = await openShop(database, { connections: 1, resolvers: [stripe] });
    await movePeopleIn(shop, database.name);
    // The caller's transaction is on the very pool of which Amends has one connection.
    const erase = (subjectId: string): Promise<unknown> =>
      shop.db.transaction(
        (_session, tx) => shop.erasure.eraseSubject(subjectId, [{ kind: "stripe", value: "cus_1" }], { tx }),
        true,
      );
    await erase("ann");
    await shop.own.exec("alter table users rename column name to full_name");
    await shop.db.transaction(async (_session, tx) => {
      await expect(shop.erasure.eraseSubject("ben", [], { tx })).rejects.toMatchObject({
        code: "DATA_MAP_MISFIT",
      });
      // The caller goes on for a while, and commits: nobody is kept waiting, and nothing is refused.
      for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
    }, true);
    await shop.erasure.recorded();
    await shop.amends.worker().runOnce();
    expect(await shop.trail("ann")).toContain("ERASURE_COMPLETED");
    expect(await shop.trail("ben")).toEqual(["ERASURE_REQUESTED", "ERASURE_FAILED"]);
  });

  it("[E-06][K-12] a failure whose commit was in doubt is on record once", async () => {
    const shop = await openShop(database, { tables: "" }); // the shop's tables are missing: every request fails
    const { db } = shop;
    let lost = 0;
    const doubtful = new Proxy(db, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]): Promise<unknown> => {
          const result: unknown = await Reflect.apply(value, target, args);
          if (name === "transaction" && (lost += 1) === 1) {
            throw Object.assign(new Error("the answer was lost"), { code: "ECONNRESET", errcode: 10 });
          }
          return result;
        };
      },
    });
    const { erasure } = new Amends({ database: joinable(doubtful, db), erasure: { dataMap: shopMap } });
    await expect(shop.own.transaction((tx) => erasure.eraseSubject("ann", [], { tx }))).rejects.toMatchObject(
      {
        code: "DATA_MAP_MISFIT",
      },
    );
    await erasure.recorded();
    expect(lost).toBe(2);
    expect(await shop.trail("ann")).toEqual(["ERASURE_REQUESTED", "ERASURE_FAILED"]);
  });

  it("[E-06][O-10] a sink outside the database hears of an erasure after its commit, at least once, and of a failure", async () => {
    const heard: string[] = [];
    const keys = new Set<string>();
    let isDown = true;
    const audit = {
      append: async (events: readonly { readonly type: string; readonly dedupeKey: string }[]) => {
        if (isDown) throw new Error("the sink is down");
        for (const { type, dedupeKey } of events) {
          if (!keys.has(dedupeKey)) heard.push(type);
          keys.add(dedupeKey);
        }
      },
    };
    const clock = virtualClock();
    const shop = await openShop(database, { clock, audit, resolvers: [memoryResolver("crm")] });
    await movePeopleIn(shop, database.name);
    await shop.own.exec("begin");
    await shop.erasure.eraseSubject("ann", [], { tx: shop.own.tx });
    await shop.own.exec("rollback");
    await shop.amends.worker().runOnce();
    isDown = false;
    await shop.amends.worker().runOnce();
    expect(heard).toEqual([]);
    isDown = true;
    await shop.own.transaction((tx) =>
      shop.erasure.eraseSubject("ann", [{ kind: "crm", value: "c1" }], { tx }),
    );
    await shop.amends.worker().runOnce();
    expect(heard).toEqual([]);
    isDown = false;
    clock.jump(DAY_MS);
    await shop.amends.worker().runOnce();
    clock.jump(DAY_MS);
    await shop.amends.worker().runOnce();
    expect(heard).toEqual(
      expect.arrayContaining([
        "ERASURE_REQUESTED",
        "ERASURE_LOCAL_COMPLETED",
        "ERASURE_STEP_SUCCEEDED",
        "ERASURE_COMPLETED",
      ]),
    );
    heard.length = 0;
    await shop.own.exec("alter table users rename column name to full_name");
    await expect(
      shop.own.transaction((tx) => shop.erasure.eraseSubject("ben", [], { tx })),
    ).rejects.toMatchObject({
      code: "DATA_MAP_MISFIT",
    });
    await shop.erasure.recorded();
    await shop.amends.worker().runOnce();
    expect(heard).toEqual(["ERASURE_REQUESTED", "ERASURE_FAILED"]);
    await expect(shop.erasure.trail("ann")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  });
});

/** `join` answers at once, not with a promise. */
function joinable(doubtful: Database, db: Database): Database {
  return Object.assign(Object.create(doubtful) as Database, { join: (tx: unknown) => db.join(tx) });
}
