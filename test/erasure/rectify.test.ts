import { memoryResolver, virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { raw } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import { movePeopleIn, openShop, type Shop } from "./support/shop.ts";

const refs = [{ kind: "crm", value: "c-ann" }];

function rectify(
  shop: Shop,
  value: string,
  given: typeof refs = refs,
  category: string = "name",
): ReturnType<Shop["erasure"]["rectifySubject"]> {
  return shop.own.transaction((tx) =>
    shop.erasure.rectifySubject("ann", [{ category, value }], given, { tx }),
  );
}

async function outboxRows(shop: Shop): Promise<string> {
  return JSON.stringify(await shop.db.query(raw(`select * from ${shop.db.dialect.table("outbox").text}`)));
}

onEachDatabase((database) => {
  it("[E-08] a rectification overwrites every column of its categories, retained ones too, and nobody else's", async () => {
    const crm = memoryResolver("crm");
    const shop = await openShop(database, { resolvers: [crm, memoryResolver("stripe")] });
    await movePeopleIn(shop, database.name);
    crm.put("c-ann", { name: "wrong", email: "a@x" });
    const report = await rectify(shop, "Ann O'Right");
    expect(report).toMatchObject({
      generation: 1,
      corrected: { users: 1, orders: 2 },
      entries: [{ resolver: "crm" }],
      skipped: ["stripe"],
      completed: false,
    });
    expect(await shop.rows("select name, email from users order by id")).toEqual([
      { name: "Ann O'Right", email: "ann@example.org" },
      { name: "ben of town", email: "ben@example.org" },
    ]);
    expect(await shop.rows("select distinct billing_name from orders where user_id = 'ann'")).toEqual([
      { billing_name: "Ann O'Right" },
    ]);
    expect(await shop.trail("ann")).toEqual([
      "RECTIFICATION_REQUESTED",
      "RECTIFICATION_STEP_SKIPPED",
      "RECTIFICATION_LOCAL_COMPLETED",
    ]);
    await shop.amends.worker().runOnce();
    expect(crm.get("c-ann")).toEqual({ name: "Ann O'Right", email: "a@x" });
    expect((await shop.trail("ann")).slice(-2)).toEqual([
      "RECTIFICATION_STEP_SUCCEEDED",
      "RECTIFICATION_COMPLETED",
    ]);
    expect(JSON.stringify(await shop.erasure.trail("ann"))).not.toContain("O'Right");
    expect(await outboxRows(shop)).not.toContain("O'Right");
  });

  it("[E-08] a system that cannot rectify is skipped on record, and without any other the request is complete at once", async () => {
    const shop = await openShop(database, { resolvers: [{ name: "crm", eraseSubject: async () => ({}) }] });
    await movePeopleIn(shop, database.name);
    expect(await rectify(shop, "Ann")).toMatchObject({ entries: [], skipped: ["crm"], completed: true });
    const trail = await shop.erasure.trail("ann");
    expect(trail.map(({ type }) => type)).toEqual([
      "RECTIFICATION_REQUESTED",
      "RECTIFICATION_STEP_SKIPPED",
      "RECTIFICATION_LOCAL_COMPLETED",
      "RECTIFICATION_COMPLETED",
    ]);
    expect(trail[1]?.payload).toEqual({ resolver: "crm", reason: "it cannot rectify" });
  });

  it("[O-14] a re-issued rectification takes the place of the abandoned one, and completes", async () => {
    const clock = virtualClock();
    const crm = memoryResolver("crm");
    const shop = await openShop(database, { clock, resolvers: [crm], retry: { attempts: 1 } });
    await movePeopleIn(shop, database.name);
    crm.put("c-ann", { name: "wrong" });
    crm.goDown();
    await rectify(shop, "first try");
    await shop.amends.worker().runOnce();
    expect((await shop.amends.attention.list()).items).toMatchObject([
      { kind: "abandoned-entry", operation: "rectify", actions: ["resolve"] },
    ]);
    crm.comeBack();
    await rectify(shop, "second try");
    expect((await shop.amends.attention.list()).items).toEqual([]);
    await shop.amends.worker().runOnce();
    expect(crm.get("c-ann")).toEqual({ name: "second try" });
    expect((await shop.trail("ann")).at(-1)).toBe("RECTIFICATION_COMPLETED");
    expect(await shop.trail("ann")).toContain("RECTIFICATION_STEP_SUPERSEDED");
  });

  it("[O-14] an erasure cancels the open rectifications of its subject, and clears what they would have written", async () => {
    const crm = memoryResolver("crm");
    const shop = await openShop(database, { resolvers: [crm] });
    await movePeopleIn(shop, database.name);
    for (const given of [refs, []]) {
      await shop.own.transaction((tx) =>
        shop.erasure.rectifySubject(
          "ben",
          [{ category: "name", value: "canary" }],
          [{ kind: "crm", value: "c-ben" }],
          { tx, afterErasure: "anew" },
        ),
      );
      expect(await outboxRows(shop)).toContain("canary");
      await shop.own.transaction((tx) => shop.erasure.eraseSubject("ben", given, { tx }));
      expect(await outboxRows(shop)).not.toContain("canary");
    }
    await shop.amends.worker().runOnce();
    expect(crm.calls.filter(({ operation }) => operation === "rectify")).toEqual([]);
    expect(await shop.rows("select name from users where id = 'ben'")).toEqual([{ name: "erased" }]);
  });

  it("[E-08] an erased subject is not made personal again, unless somebody says what for", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
    await expect(rectify(shop, "Ann", [])).rejects.toMatchObject({ code: "SUBJECT_ERASED" });
    expect(await shop.rows("select name from users where id = 'ann'")).toEqual([{ name: "erased" }]);
    const correct = (afterErasure: "retained" | "anew"): Promise<unknown> =>
      shop.own.transaction((tx) =>
        shop.erasure.rectifySubject("ann", [{ category: "name", value: "Ann" }], [], { tx, afterErasure }),
      );
    expect(await correct("retained")).toMatchObject({ corrected: { orders: 1 } });
    expect(await shop.rows("select billing_name from orders where user_id = 'ann' order by id")).toEqual([
      { billing_name: "Ann" },
      { billing_name: "erased" },
    ]);
    expect(await shop.rows("select name from users where id = 'ann'")).toEqual([{ name: "erased" }]);
    expect(await correct("anew")).toMatchObject({ corrected: { users: 1, orders: 2 } });
    expect(await shop.rows("select name from users where id = 'ann'")).toEqual([{ name: "Ann" }]);
  });

  it("[E-08] a value that the database refuses is in no error, no event and no row", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    const taken = "ben@example.org"; // somebody else's
    const refused: unknown = await rectify(shop, taken, [], "email").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "DATABASE_REFUSED", details: { table: "users" } });
    const { message, stack, cause } = refused as Error;
    expect(
      JSON.stringify([message, stack, cause, String(cause), Object.entries(cause as object)]),
    ).not.toContain(taken);
    await shop.erasure.recorded();
    expect(JSON.stringify(await shop.erasure.trail("ann"))).not.toContain(taken);
    expect(await shop.trail("ann")).toEqual(["RECTIFICATION_REQUESTED", "RECTIFICATION_FAILED"]);
    expect(await shop.rows("select email from users where id = 'ann'")).toEqual([
      { email: "ann@example.org" },
    ]);
  });
});
