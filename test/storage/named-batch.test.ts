import { expect, it } from "vitest";
import { runInside, runTogether } from "../../src/storage/named-batch.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";

const add = (n: number): Sql =>
  sql`insert into notes (n, place) select ${n}, count(*) from notes returning n`;

onEachDatabase((database) => {
  it("[K-11] statements with names are one transaction, run in the order in which they are listed, and answer by name", async () => {
    const db = await database.open();
    await db.query(raw("create table notes (n integer primary key, place integer)"));
    const { first, second, left } = await runTogether(db, { first: add(7), left: undefined, second: add(3) });
    expect([first, second, left]).toEqual([[{ n: 7 }], [{ n: 3 }], []]);
    await expect(runTogether(db, { fresh: add(4), taken: add(7) })).rejects.toThrow(/unique/i);
    const places = await db.query(raw("select n, place from notes order by place"));
    expect(places.map((row) => [Number(row["n"]), Number(row["place"])])).toEqual([
      [7, 0],
      [3, 1],
    ]);
    expect(await runTogether(db, { nothing: undefined })).toEqual({ nothing: [] });
  });

  it("[K-11] inside an open transaction they belong to it", async () => {
    const db = await database.open();
    await db.query(raw("create table notes (n integer primary key, place integer)"));
    const rolledBack = db.transaction(async (session) => {
      expect(await runInside(session, { one: add(1), two: add(2) })).toEqual({
        one: [{ n: 1 }],
        two: [{ n: 2 }],
      });
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    expect(await db.query(raw("select n from notes"))).toEqual([]);
  });
});
