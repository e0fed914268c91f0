/** Rows that reach a subject by a way that the data map does not follow are named. */
import { dataMap } from "amends/erasure";
import { expect, it } from "vitest";
import { dataMapOf } from "../../src/cli/doctor/data-map.ts";
import { onEachDatabase } from "../support/databases.ts";
import { caller } from "./support/shop.ts";

onEachDatabase((database) => {
  it("[E-01] a second path to the subject, and a table outside of the map, are named by the check and by the doctor", async () => {
    await database.open();
    const own = await caller(database);
    for (const table of [
      "users (id text primary key, name text, likes integer)",
      "letters (id integer primary key, sender text references users (id), receiver text references users (id), body text, stamp integer)",
      "notes (id integer primary key, author text references users (id), body text)",
      "bills (id integer primary key, user_id text references users (id), address text, amount integer)",
    ])
      await own.exec(`create table ${table}`);
    const name = { category: "name", strategy: "anonymize" } as const;
    const map = dataMap({
      users: { subject: "id", columns: { name } },
      letters: { via: { table: "users", columns: ["sender"] }, columns: { body: name } },
      bills: { subject: "user_id", columns: { address: name } },
    });
    const { erasure } = await database.amends({ erasure: { dataMap: map } });
    const plan = await erasure.check();
    expect(plan.unfollowed.toSorted((a, b) => (a.table < b.table ? -1 : 1))).toEqual([
      { table: "letters", columns: ["receiver"], to: "users", isMapped: true },
      {
        table: expect.stringContaining("notes") as string,
        columns: ["author"],
        to: "users",
        isMapped: false,
      },
    ]);
    const finding = dataMapOf(plan);
    expect([finding.level, finding.advice]).toEqual(["warn", expect.stringContaining("erasure.md")]);
    expect(finding.detail).toContain("letters.receiver → users");
    expect(finding.detail).not.toContain("bills");
  });

  it("[E-01] a row that goes with the row that it refers to is not named", async () => {
    await database.open();
    const own = await caller(database);
    await own.exec("create table people (id text primary key)");
    await own.exec(
      "create table pictures (id integer primary key, person text references people (id) on delete cascade)",
    );
    const map = dataMap({ people: { subject: "id", columns: {} } });
    const { erasure } = await database.amends({ erasure: { dataMap: map } });
    expect((await erasure.check()).unfollowed).toEqual([]);
  });
});
