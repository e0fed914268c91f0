import { nthClaim } from "../support/claims.ts";
import { expect, it } from "vitest";
import { raw, sql } from "../../src/storage/sql.ts";
import { openSqlite } from "../../src/storage/sqlite/driver.ts";
import { onDatabase, onEachDatabase, virtualClock } from "../support/databases.ts";
import { startClaimer } from "./support/children.ts";
import { insertRow, journalOn, KIND, LEASE_MS, newSaga } from "./support/sagas.ts";

onEachDatabase((database) => {
  it("[K-04] a claim stamps the row, closes its gate for the lease, and issues a new token", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const journal = journalOn(db);
    await journal.create(newSaga("one"));
    const row = async (): Promise<unknown> => {
      const { dialect } = db;
      const ms = (column: string) => sql`${dialect.epochMs(raw(column))} as ${raw(column)}`;
      const [found] = await db.query(sql`select status, token, owner, recovery_attempts,
        ${ms("next_attempt_at")}, ${ms("last_attempt_at")} from ${dialect.table("saga_executions")}`);
      return found;
    };
    await journal.claim([KIND], 1, "first", LEASE_MS);
    const firstMs = clock.virtualNowMs();
    expect(await row()).toEqual({
      status: "RUNNING",
      token: nthClaim(1),
      owner: "first",
      recovery_attempts: 0,
      next_attempt_at: firstMs + LEASE_MS,
      last_attempt_at: firstMs,
    });
    await clock.advance(LEASE_MS);
    await journal.claim([KIND], 1, "second", LEASE_MS);
    expect(await row()).toMatchObject({
      token: nthClaim(2),
      owner: "second",
      recovery_attempts: 1,
      last_attempt_at: firstMs + LEASE_MS,
    });
  });

  it("[K-04] rows that never lost a worker come first, then the longest due, then by id", async () => {
    const db = await database.open({ clock: virtualClock() });
    await insertRow(db, "troubled", { gateMs: null, recoveries: 3 });
    await insertRow(db, "late", { gateMs: -10 });
    await insertRow(db, "b", { gateMs: -20 });
    await insertRow(db, "a", { gateMs: -20 });
    await insertRow(db, "fresh", { gateMs: null });
    const journal = journalOn(db);
    const order: string[] = [];
    for (;;) {
      const [record] = await journal.claim([KIND], 1, "me", LEASE_MS);
      if (!record) break;
      order.push(record.id);
    }
    expect(order).toEqual(["fresh", "a", "b", "late", "troubled"]);
  });

  it("[K-04] several connections that claim at once never get one row twice, and leave none", async () => {
    const rows = 200;
    const first = await database.open();
    for (let n = 0; n < rows; n++) await insertRow(first, `row-${n}`);
    const handles = await Promise.all(Array.from({ length: 4 }, () => database.open()));
    const claimed = await Promise.all(
      handles.map(async (db, index) => {
        const mine: string[] = [];
        for (let empty = 0; empty < 2;) {
          const records = await journalOn(db).claim([KIND], 7, `worker-${index}`, LEASE_MS);
          mine.push(...records.map((record) => record.id));
          empty = records.length === 0 ? empty + 1 : 0;
        }
        return mine;
      }),
    );
    const all = claimed.flat();
    expect(all).toHaveLength(rows);
    expect(new Set(all).size).toBe(rows);
  });

  it("[K-04] several processes that claim at once never get one row twice, and leave none", async () => {
    const rows = 300;
    const db = await database.open();
    for (let n = 0; n < rows; n++) await insertRow(db, `row-${n}`);
    const place = await database.place();
    const claimers = await Promise.all(
      ["a", "b", "c"].map((owner) => startClaimer(database.name, place, owner)),
    );
    await Promise.all(claimers.map((claimer) => claimer.ready));
    const all = (await Promise.all(claimers.map((claimer) => claimer.go()))).flat();
    expect(all).toHaveLength(rows);
    expect(new Set(all).size).toBe(rows);
    const [tokens] = await db.query(
      sql`select max(token) as newest, min(token) as oldest from ${db.dialect.table("saga_executions")}`,
    );
    expect(tokens).toEqual({ newest: nthClaim(1), oldest: nthClaim(1) });
  }, 90_000);

  it("[K-05] a claim takes exactly its limit where more is due", async () => {
    const db = await database.open();
    for (let n = 0; n < 50; n++) await insertRow(db, `row-${n}`, { recoveries: n % 3 });
    for (const limit of [5, 1, 13]) {
      expect(await journalOn(db).claim([KIND], limit, "me", LEASE_MS)).toHaveLength(limit);
    }
    expect(await journalOn(db).claim([KIND], 100, "me", LEASE_MS)).toHaveLength(50 - 19);
  });
});

onDatabase("sqlite", (database) => {
  it("[K-04] on SQLite a transaction has the write lock from its beginning", async () => {
    const db = await database.open();
    const other = openSqlite(await database.place());
    other.exec("pragma busy_timeout = 0");
    const begin = (): string => {
      try {
        other.exec("begin immediate; rollback");
        return "begun";
      } catch (error) {
        return String(error);
      }
    };
    // A transaction that reads first and takes the lock later fails when another one has written in between.
    expect(await db.transaction(async () => begin())).toContain("locked");
    expect(begin()).toBe("begun");
    other.close();
  });
});
