/** Surrogates against real columns: what the database's types, unique keys, enums and CHECK constraints admit. */
import { dataMap, type DataMapJson, dataMapFromJson } from "amends/erasure";
import { describe, expect, it } from "vitest";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { openShop, type Shop } from "./support/shop.ts";

const hidden = { category: "any", strategy: "anonymize" } as const;

/** Every column but `id` and `plain` is personal. */
function mapOf(columns: readonly string[]): DataMapJson {
  return { things: { subject: "id", columns: Object.fromEntries(columns.map((name) => [name, hidden])) } };
}

async function eraseAnn(shop: Shop): Promise<Readonly<Record<string, unknown>>> {
  await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
  const [row] = await shop.own.rows("select * from things where id = 'ann'");
  return row as Readonly<Record<string, unknown>>;
}

onDatabase("postgres", (database) => {
  it("[E-03] columns of every type of PostgreSQL get values of their type, also where they were null", async () => {
    const types = [
      "text",
      "varchar(3)",
      "char(4)",
      "int",
      "smallint",
      "bigint",
      "numeric(4,2)",
      "float8",
      "boolean",
      "date",
      "timestamp",
      "timestamptz",
      "time",
      "interval",
      "uuid",
      "bytea",
      "json",
      "jsonb",
      "text[]",
      "int[]",
      "inet",
      "cidr",
      "mood",
    ];
    const names = types.map((_, at) => `c${at}`);
    const tables = `create type mood as enum ('fine', 'poor');
      create table things (id text primary key, plain text, ${types.map((type, at) => `c${at} ${type}`).join(", ")})`;
    const shop = await openShop(database, { tables, dataMap: dataMapFromJson(mapOf(names)) });
    await shop.own.exec(
      "insert into things (id, plain, c0, c22) values ('ann', 'stays', 'canary', 'poor'), ('ben', 'x', 'canary', 'poor')",
    );
    expect((await shop.erasure.verifySubject("ann")).left).toEqual([
      { table: "things", column: "c0", rows: 1 },
      { table: "things", column: "c22", rows: 1 },
    ]);
    const row = await eraseAnn(shop);
    expect(Object.values(row)).not.toContain(null);
    expect(row).toMatchObject({
      plain: "stays",
      c0: "erased",
      c1: "era",
      c3: 0,
      c5: "0",
      c6: "0.00",
      c8: false,
      c14: "00000000-0000-0000-0000-000000000000",
      c16: {},
      c18: [],
      c20: "0.0.0.0",
      c22: "fine",
    });
    expect(await shop.own.rows("select c0, c22 from things where id = 'ben'")).toEqual([
      { c0: "canary", c22: "poor" },
    ]);
    expect(await shop.erasure.verifySubject("ann")).toMatchObject({ clean: true });
  });

  it("[E-01][E-03] domains and unknown types need a declared surrogate", async () => {
    const tables = `create domain postcode as text check (value ~ '^[0-9]{5}$');
      create table things (id text primary key, plain text, code postcode, spot point)`;
    const shop = await openShop(database, { tables, dataMap: dataMapFromJson(mapOf(["code", "spot"])) });
    await expect(shop.erasure.check()).rejects.toMatchObject({
      code: "DATA_MAP_MISFIT",
      message: expect.stringMatching(
        /things\.code: has a type with its own constraints.*\nthings\.spot: has the type point/,
      ) as string,
    });
  });

  it("[E-01] tables in other schemas, unique expressions and computed columns are seen", async () => {
    const tables = `create schema crm;
      create table crm.people (id int primary key, email text not null, loud text generated always as (upper(email)) stored, age int);
      create unique index people_email on crm.people (lower(email));`;
    const map = dataMap({
      "crm.people": { subject: "id", columns: { email: { category: "email", strategy: "anonymize" } } },
    });
    const shop = await openShop(database, { tables, dataMap: map });
    await shop.own.exec("insert into crm.people (id, email, age) values (7, 'ann@x', 3), (8, 'ben@x', 4)");
    await shop.own.transaction((tx) => shop.erasure.eraseSubject("7", [], { tx }));
    const people = await shop.own.rows("select id, email, loud from crm.people order by id");
    expect(people).toMatchObject([
      {
        id: 7,
        email: expect.stringMatching(/^erased-/) as string,
        loud: expect.stringMatching(/^ERASED-/) as string,
      },
      { email: "ben@x" },
    ]);
    await expect(
      shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx })),
    ).rejects.toMatchObject({
      code: "BAD_ID",
      message:
        "The subject's id does not fit the column crm.people.id: it is not a whole number that fits it.",
    });
    const odd = await openShop(database, {
      tables: "",
      dataMap: dataMap({
        "crm.people": { subject: "id", columns: { loud: { category: "email", strategy: "delete" } } },
      }),
    });
    await expect(odd.erasure.check()).rejects.toThrow(/crm\.people\.loud: is computed from other columns/);
  });
});

onDatabase("sqlite", (database) => {
  it("[E-03] columns of every type of SQLite get values of the type that they hold", async () => {
    const tables = `create table things (id text primary key, plain text, a varchar(3), b integer, c real, d blob, e date, f datetime, g boolean, h json, i uuid, j, k numeric)`;
    const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    const shop = await openShop(database, { tables, dataMap: dataMapFromJson(mapOf(names)) });
    await shop.own.exec(
      `insert into things values ('ann', 'stays', 'abc', 5, 1.5, x'010203', '1990-05-05', 1700000000, 1, '{"a":1}', 'u-1', x'77', 12)`,
    );
    const row = await eraseAnn(shop);
    expect({ ...row, d: undefined, j: undefined }).toEqual({
      id: "ann",
      plain: "stays",
      a: "era",
      b: 0,
      c: 0,
      d: undefined,
      e: "1970-01-01",
      f: 0,
      g: 0,
      h: "{}",
      i: "00000000-0000-0000-0000-000000000000",
      j: undefined,
      k: 0,
    });
    expect([row["d"], row["j"]].map((bytes) => (bytes as Uint8Array).length)).toEqual([0, 0]);
    expect(await shop.erasure.verifySubject("ann")).toMatchObject({ clean: true, left: [] });
  });

  it("[E-03] strict tables take their surrogates, too", async () => {
    const tables =
      "create table things (id text primary key, plain text, a text not null, b integer not null, c real not null, d blob not null, e any) strict";
    const shop = await openShop(database, {
      tables,
      dataMap: dataMapFromJson(mapOf(["a", "b", "c", "d", "e"])),
    });
    await shop.own.exec("insert into things values ('ann', 'stays', 'x', 5, 1.5, x'01', 'y')");
    expect(await eraseAnn(shop)).toMatchObject({ plain: "stays", a: "erased", b: 0, c: 0, e: "erased" });
  });
});

onEachDatabase((database) => {
  describe("constraints", () => {
    it("[E-03] unique columns get surrogates that differ, and a read-back knows them", async () => {
      const tables =
        "create table things (n integer primary key, id text not null, plain text, a varchar(40) not null unique, b varchar(15) unique, c bigint unique, d uuid unique)";
      const shop = await openShop(database, {
        tables,
        dataMap: dataMapFromJson(mapOf(["a", "b", "c", "d"])),
      });
      for (let n = 1; n <= 5; n++) {
        await shop.own.exec(
          `insert into things values (${n}, 'ann', 'x', 'a${n}', 'b${n}', ${n}, 'aaaaaaaa-0000-4000-8000-00000000000${n}')`,
        );
      }
      await eraseAnn(shop);
      const rows = await shop.own.rows("select a, b, c, d from things");
      for (const column of ["a", "b", "c", "d"])
        expect(new Set(rows.map((row) => String(row[column]))).size).toBe(5);
      expect(JSON.stringify(rows)).not.toMatch(/"a1"|"b1"|aaaaaaaa/);
      expect(await shop.erasure.verifySubject("ann")).toMatchObject({ clean: true });
    });

    it("[E-03] a CHECK constraint is kept, by a value that it names where the usual one does not pass", async () => {
      const tables = `create table things (id text primary key, plain text, size text not null check (size in ('s', 'm')),
        age integer check (age >= 18 and age < 150), mail text check (mail like '%_@_%'), code text check (length(code) = 6))`;
      const shop = await openShop(database, {
        tables,
        dataMap: dataMapFromJson(mapOf(["size", "age", "mail", "code"])),
      });
      await shop.own.exec("insert into things values ('ann', 'x', 'm', 44, 'ann@x', 'abcdef')");
      expect(await eraseAnn(shop)).toMatchObject({
        size: "s",
        age: 18,
        mail: "erased@erased.invalid",
        code: "erased",
      });
    });

    it("[E-01] a CHECK constraint that no surrogate is known to pass is told when the map is checked", async () => {
      const tables =
        "create table things (id text primary key, plain text, code text check (code like 'A-____-Z' and code <> plain))";
      const shop = await openShop(database, { tables, dataMap: dataMapFromJson(mapOf(["code"])) });
      await expect(shop.erasure.check()).rejects.toThrow(
        /things\.code: has a CHECK constraint that no surrogate is known to pass/,
      );
      const declared = dataMap({
        things: { subject: "id", columns: { code: { ...hidden, surrogate: "A-0000-Z" } } },
      });
      const better = await openShop(database, { tables: "", dataMap: declared });
      await better.own.exec("insert into things values ('ann', 'x', 'A-1234-Z')");
      expect(await eraseAnn(better)).toMatchObject({ code: "A-0000-Z" });
    });

    it("[E-01] a declared surrogate that a CHECK constraint refuses is told when the map is checked", async () => {
      const tables =
        "create table things (id text primary key, plain text, code text check (length(code) = 3))";
      const declared = dataMap({
        things: { subject: "id", columns: { code: { ...hidden, surrogate: "erased" } } },
      });
      const shop = await openShop(database, { tables, dataMap: declared });
      await expect(shop.erasure.check()).rejects.toThrow(
        /things\.code: has a CHECK constraint that its declared surrogate does not pass/,
      );
    });

    it("[E-02] rows reach their subject through keys of several columns, over several tables", async () => {
      const tables = `
        create table users (shop text, id text, email text, primary key (shop, id));
        create table carts (shop text, nr integer, owner text, label text, primary key (nr, shop), foreign key (shop, owner) references users (shop, id));
        create table items (id text primary key, cart integer, cart_shop text, wish text, foreign key (cart, cart_shop) references carts (nr, shop));`;
      const gone = { category: "any", strategy: "delete" } as const;
      const map = dataMap({
        users: { subject: "id", columns: { email: gone } },
        carts: { via: { table: "users", columns: ["owner", "shop"] }, columns: { label: gone } },
        items: { via: "carts", columns: { wish: gone } },
      });
      const shop = await openShop(database, { tables, dataMap: map });
      await shop.own.exec(`
        insert into users values ('s', 'ann', 'a@x'), ('s', 'ben', 'b@x'), ('z', 'ben', 'b@z');
        insert into carts values ('s', 1, 'ann', 'mine'), ('s', 2, 'ben', 'his'), ('z', 1, 'ben', 'other shop');
        insert into items values ('i1', 1, 's', 'tea'), ('i2', 2, 's', 'rum'), ('i3', 1, 'z', 'ale');`);
      const report = await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
      expect(report.deleted).toEqual({ items: 1, carts: 1, users: 1 });
      expect(await shop.own.rows("select id from items order by id")).toEqual([{ id: "i2" }, { id: "i3" }]);
      expect(await shop.own.rows("select label from carts order by label")).toEqual([
        { label: "his" },
        { label: "other shop" },
      ]);
    });

    it("[E-02] a way that only the map knows is as good as a foreign key", async () => {
      const tables = `create table users (id integer primary key, email text, age integer);
        create table notes (id integer primary key, owner_email_id integer, body text);`;
      const gone = { category: "any", strategy: "delete" } as const;
      const map = dataMap({
        users: { subject: "id", columns: { email: gone } },
        notes: {
          via: { table: "users", columns: "owner_email_id", references: "id" },
          columns: { body: gone },
        },
      });
      const shop = await openShop(database, { tables, dataMap: map });
      await shop.own.exec(
        "insert into users values (1, 'a@x', 30), (2, 'b@x', 31); insert into notes values (1, 1, 'a'), (2, 2, 'b')",
      );
      await shop.own.transaction((tx) => shop.erasure.eraseSubject("1", [], { tx }));
      expect(await shop.own.rows("select id from notes")).toEqual([{ id: 2 }]);
    });
  });
});
