import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { movePeopleIn, openShop } from "./support/shop.ts";

onEachDatabase((database) => {
  it("[E-02][E-03] an erasure deletes, overwrites and retains what the map says, and touches nobody else", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    const report = await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
    expect(report).toMatchObject({
      subjectId: "ann",
      generation: 1,
      deleted: { messages: 2 },
      anonymized: { users: 1, orders: 2 },
      entries: [],
      completed: true,
    });
    const [user] = await shop.rows("select * from users where id = 'ann'");
    expect(user).toMatchObject({ name: "erased", joined_on: "monday" });
    expect(user?.["email"]).toMatch(/^erased-[0-9a-f]{32}$/);
    expect(await shop.rows("select * from messages where user_id = 'ann'")).toEqual([]);
    const orders = await shop.rows(
      "select id, billing_name, note, cents from orders where user_id = 'ann' order by id",
    );
    expect(orders).toEqual([
      { id: "o-ann-new", billing_name: "ann invoiced", note: "erased", cents: 200 },
      { id: "o-ann-old", billing_name: "erased", note: "erased", cents: 100 },
    ]);
    expect(await shop.rows("select name from users where id = 'ben'")).toEqual([{ name: "ben of town" }]);
    expect(await shop.rows("select id from messages where user_id = 'ben' order by id")).toHaveLength(2);
    expect(report.retained).toMatchObject([
      { table: "orders", column: "billing_name", rows: 1, legalBasis: "tax law" },
    ]);
    expect(report.retained[0]?.until?.getUTCFullYear()).toBe(new Date().getUTCFullYear() + 10);
    expect(await shop.trail("ann")).toEqual([
      "ERASURE_REQUESTED",
      "ERASURE_LOCAL_COMPLETED",
      "ERASURE_COMPLETED",
    ]);
  });
});
