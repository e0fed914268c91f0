/** better-sqlite3 and Drizzle over it, whose transactions are synchronous. `npm run clients` builds the library. */
import { Amends } from "amends";
import { drizzleSqlite } from "amends/drizzle";
import { sqlite } from "amends/sqlite";
import Sqlite from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { expect, expectTypeOf, it } from "vitest";
import { describeOn } from "../../support/databases.ts";
import { onBetterSqlite3, onDrizzleBetterSqlite3 } from "../clients/better-sqlite3.ts";
import { SYNC_CHECKS } from "../sync-conformance.ts";

describeOn("sqlite", () => {
  for (const client of [onBetterSqlite3, onDrizzleBetterSqlite3])
    for (const { title, run } of SYNC_CHECKS) {
      it(`${title}: ${client.name}`, async () => {
        await run(client);
        expect.hasAssertions();
      });
    }

  it("[C-01] `tx` of `amends.sync` has the type of Drizzle's transaction", () => {
    const db = drizzle({ client: new Sqlite(":memory:") });
    const amends = new Amends({ database: sqlite(new Sqlite(":memory:"), { joins: drizzleSqlite(db) }) });
    type DrizzleTx = Parameters<Parameters<typeof db.transaction>[0]>[0];
    expectTypeOf(amends).toEqualTypeOf<Amends<DrizzleTx>>();
  });
});
