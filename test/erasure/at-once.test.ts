/** Several operations at once in one transaction of the caller. */
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { movePeopleIn, openShop } from "./support/shop.ts";

/** The application refuses that the rows of ann are changed. */
const GUARD = {
  postgres: `
    create function keep() returns trigger language plpgsql as 'begin raise exception ''kept''; end';
    create trigger keep before update on users for each row when (old.id = 'ann') execute function keep()`,
  sqlite: `create trigger keep before update on users when old.id = 'ann' begin select raise(abort, 'kept'); end`,
} as const;

onEachDatabase((database) => {
  it("[C-01] an erasure that fails takes back nothing that another operation wrote at the same time in the same transaction", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    await shop.own.exec(GUARD[database.name]);
    const { webhooks } = await database.amends({ database: shop.db, webhooks: {} });
    const ended = await shop.own.transaction((tx) =>
      Promise.allSettled([
        shop.erasure.eraseSubject("ann", [], { tx }),
        shop.erasure.eraseSubject("ben", [], { tx }),
        shop.erasure.eraseSubject("ann", [], { tx }),
        webhooks.publish({ type: "order.placed", data: {}, id: "w-1" }, { tx }),
      ]),
    );
    expect(ended.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled"]);
    const left = await shop.rows("select id from users where name like '%of town'");
    expect(left.map(({ id }) => id)).toEqual(["ann"]);
    const events = await shop.rows(`select id from ${shop.db.dialect.table("webhook_events").text}`);
    expect(events).toHaveLength(1);
  });
});
