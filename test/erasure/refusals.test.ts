/** What an erasure must not do is refused before anything is written. */
import { Amends, AmendsError } from "amends";
import { dataMap } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { movePeopleIn, openShop, shopMap, shopTables, type Shop } from "./support/shop.ts";

const gone = { category: "any", strategy: "delete" } as const;

async function refusalOf(shop: Shop, subjectId: string = "ann"): Promise<AmendsError> {
  const error: unknown = await shop.own
    .transaction((tx) => shop.erasure.eraseSubject(subjectId, [], { tx }))
    .then(
      () => "it went through",
      (thrown: unknown) => thrown,
    );
  await shop.erasure.recorded();
  if (error instanceof AmendsError) return error;
  throw new Error(String(error));
}

onEachDatabase((database) => {
  it("[E-05] a row of a table that nobody mapped is not left without what it refers to", async () => {
    const tables = `create table users (id text primary key, email text);
      create table logins (id text primary key, user_id text references users (id), at text);`;
    const map = dataMap({ users: { subject: "id", columns: { email: gone } } });
    const shop = await openShop(database, { tables, dataMap: map });
    await shop.own.exec(
      "insert into users values ('ann', 'a@x'), ('ben', 'b@x'); insert into logins values ('l1', 'ann', 'monday')",
    );
    const refused = await refusalOf(shop);
    expect(refused).toMatchObject({
      code: "ERASURE_REFUSED",
      details: { columns: ["user_id"], parent: "users" },
    });
    expect(refused.message).toMatch(/logins\.user_id: a row that has to stay refers to a row of users/);
    expect(await shop.rows("select email from users order by id")).toEqual([
      { email: "a@x" },
      { email: "b@x" },
    ]);
    // Whoever has no such row can be erased.
    await shop.own.transaction((tx) => shop.erasure.eraseSubject("ben", [], { tx }));
    expect(await shop.rows("select id from users")).toEqual([{ id: "ann" }]);
  });

  it("[E-05] ON DELETE CASCADE does not delete what has to be retained", async () => {
    const instant = database.name === "postgres" ? "timestamptz" : "text";
    const tables = `create table users (id text primary key, email text);
      create table bills (id text primary key, user_id text references users (id) on delete cascade, name text, since ${instant});`;
    const policy = { reason: "tax", legalBasis: "tax law", duration: "10y", anchor: "since" } as const;
    const kept = { category: "name", strategy: "retain", policy } as const;
    const map = dataMap({
      users: { subject: "id", columns: { email: gone } },
      bills: { via: "users", columns: { name: kept, since: kept } },
    });
    const shop = await openShop(database, { tables, dataMap: map });
    await shop.own.exec(`insert into users values ('ann', 'a@x'), ('ben', 'b@x');
      insert into bills values ('b1', 'ann', 'ann', '2999-01-01T00:00:00Z'), ('b2', 'ben', 'ben', '2001-01-01T00:00:00Z')`);
    const refused = await refusalOf(shop);
    expect(refused.code).toBe("ERASURE_REFUSED");
    expect(refused.message).toMatch(/bills\.user_id: .*deleted along with it \(ON DELETE CASCADE\)/);
    expect(await shop.rows("select id, name from bills order by id")).toEqual([
      { id: "b1", name: "ann" },
      { id: "b2", name: "ben" },
    ]);
    expect(await shop.rows("select id from users order by id")).toHaveLength(2);
    // Once the time is over, all of it goes.
    const report = await shop.own.transaction((tx) => shop.erasure.eraseSubject("ben", [], { tx }));
    expect(report.deleted).toEqual({ bills: 1, users: 1 });
    expect(await shop.rows("select id from bills")).toEqual([{ id: "b1" }]);
  });

  it("[E-05] a reply of somebody else keeps the message that it answers", async () => {
    const tables = `create table posts (id text primary key, owner text, reply_to text references posts (id) on delete restrict, body text)`;
    const shop = await openShop(database, {
      tables,
      dataMap: dataMap({ posts: { subject: "owner", columns: { body: gone } } }),
    });
    await shop.own.exec(`insert into posts values ('p1', 'ann', null, 'a');
      insert into posts values ('p2', 'ann', 'p1', 'a'), ('p3', 'ann', 'p2', 'a');`);
    await shop.own.exec("insert into posts values ('p4', 'ben', 'p3', 'b')");
    expect((await refusalOf(shop)).message).toMatch(
      /posts\.reply_to: a row that has to stay refers to a row of posts/,
    );
    await shop.own.transaction((tx) => shop.erasure.eraseSubject("ben", [], { tx }));
    const report = await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
    expect(report.deleted).toEqual({ posts: 3 });
  });

  it("[E-06] a refusal leaves the caller's transaction as it was, and whoever commits it commits nothing of the erasure", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    // The database objects half-way through, after the messages are gone.
    await shop.own.exec(
      database.name === "postgres"
        ? "create function no() returns trigger language plpgsql as $$ begin raise exception 'no, % %', old.email, old.name; end $$; create trigger no before update on users for each row execute function no()"
        : "create trigger no before update on users begin select raise(abort, 'no'); end",
    );
    await shop.own.exec("begin");
    await shop.own.exec("insert into users values ('eve', 'eve@x', 'eve', '')");
    const refused: unknown = await shop.erasure
      .eraseSubject("ann", [], { tx: shop.own.tx })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "DATABASE_REFUSED", details: { table: "users" } });
    expect(JSON.stringify([refused, String(refused), String((refused as Error).cause)])).not.toContain(
      "ann@example.org",
    );
    await shop.own.exec("commit");
    expect(await shop.rows("select id from messages where user_id = 'ann'")).toHaveLength(2);
    expect(await shop.rows("select id from users where id = 'eve'")).toHaveLength(1);
    await shop.erasure.recorded();
    expect(await shop.trail("ann")).toEqual(["ERASURE_REQUESTED", "ERASURE_FAILED"]);
    expect((await shop.erasure.trail("ann")).at(-1)?.payload).toEqual({ error: "DATABASE_REFUSED" });
  });

  it("[E-06] a rollback leaves no trace that claims completion, and no entry", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    await shop.own.exec("begin");
    const report = await shop.erasure.eraseSubject("ann", [], { tx: shop.own.tx });
    expect(report.completed).toBe(true);
    await shop.own.exec("rollback");
    expect(await shop.trail("ann")).toEqual([]);
    expect(await shop.rows("select id from messages where user_id = 'ann'")).toHaveLength(2);
    expect(
      (await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }))).generation,
    ).toBe(1);
  });

  it("[E-02][K-20] what is wrong with a call is told at the door, and nothing is written", async () => {
    const resolver = { name: "crm", eraseSubject: async () => ({}) };
    const shop = await openShop(database, { resolvers: [resolver] });
    await movePeopleIn(shop, database.name);
    const { erasure, own } = shop;
    const wrong: readonly (() => Promise<unknown>)[] = [
      () => erasure.eraseSubject("", [], { tx: own.tx }),
      () => erasure.eraseSubject("x".repeat(256), [], { tx: own.tx }),
      () => erasure.eraseSubject("ann", [{ kind: "stripe", value: "cus_1" }], { tx: own.tx }),
      () => erasure.eraseSubject("ann", [{ kind: "crm", value: "" }], { tx: own.tx }),
      () => erasure.eraseSubject("ann", "crm" as never, { tx: own.tx }),
      () => erasure.rectifySubject("ann", [], [], { tx: own.tx }),
      () => erasure.rectifySubject("ann", [{ category: "shoe-size", value: "44" }], [], { tx: own.tx }),
      () =>
        erasure.rectifySubject(
          "ann",
          [
            { category: "email", value: "a" },
            { category: "email", value: "b" },
          ],
          [],
          { tx: own.tx },
        ),
      () => erasure.rectifySubject("ann", [{ category: "email", value: "x".repeat(61) }], [], { tx: own.tx }),
      () => erasure.rectifySubject("ann", [{ category: "email", value: 7 }], [], { tx: own.tx }),
    ];
    await own.exec("begin");
    for (const call of wrong)
      await expect(call()).rejects.toMatchObject({
        name: "AmendsError",
        code: expect.stringMatching(/^BAD_/) as string,
      });
    await own.exec("commit");
    await erasure.recorded();
    expect(await shop.rows("select name from users where id = 'ann'")).toEqual([{ name: "ann of town" }]);
    expect((await shop.trail("ann")).filter((type) => !/REQUESTED|FAILED/.test(type))).toEqual([]);
    expect((await erasure.outbox.statusCounts()).pending).toBe(0);
  });

  it("[E-04][K-20] parts that do not fit together are refused when they are put together", async () => {
    const shop = await openShop(database);
    const resolver = { name: "crm", eraseSubject: async () => ({}) };
    const make = (more: object): unknown =>
      new Amends({ database: shop.db, erasure: { dataMap: shopMap, ...more } });
    expect(() => make({ resolvers: [resolver, resolver] })).toThrow(
      /A resolver named crm is registered already/,
    );
    expect(() => make({ dataMap: { users: { subject: "id" } } })).toThrow("`erasure` needs a data map");
    expect(() => make({ resolver: [] })).toThrow(
      "new Amends({ erasure }): there is no option named resolver",
    );
    expect(() => make({ retry: { attempts: 0 } })).toThrow("erasure.retry.attempts");
  });

  it("[E-02] a transaction that is not open is refused", async () => {
    const shop = await openShop(database);
    await expect(shop.erasure.eraseSubject("ann", [], { tx: shop.own.tx })).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
    });
  });

  it("[E-01] a map that no longer fits the schema is refused, also when it fitted before", async () => {
    const shop = await openShop(database);
    await movePeopleIn(shop, database.name);
    await shop.erasure.check();
    await shop.own.exec("alter table users rename column name to full_name");
    const refused = await refusalOf(shop);
    expect(refused).toMatchObject({
      code: "DATA_MAP_MISFIT",
      details: { problems: [{ table: "users", column: "name" }] },
    });
    expect(await shop.rows("select id from messages where user_id = 'ann'")).toHaveLength(2);
  });

  it("[E-03] a column that was added since keeps the row from being deleted", async () => {
    const shop = await openShop(database, {
      tables: `${shopTables(database.name)} alter table messages add column likes integer;`,
    });
    await movePeopleIn(
      {
        own: {
          ...shop.own,
          exec: (text) =>
            shop.own.exec(
              text.replaceAll(
                "insert into messages values",
                "insert into messages (id, user_id, body) values",
              ),
            ),
        },
      },
      database.name,
    );
    const report = await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
    expect(report).toMatchObject({ deleted: {}, anonymized: { messages: 2 } });
  });
});
