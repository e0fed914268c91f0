/** The planner may do what it wants: no choice of it lets a claim take more rows than it was allowed to. */
import pg from "pg";
import { expect, it } from "vitest";
import { claimSagas } from "../../src/sagas/journal/queries.ts";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase } from "../support/databases.ts";
import { SWITCHES, underEveryPlan } from "../support/hostile-plans.ts";
import { insertRow, LANE, LEASE_MS } from "./support/sagas.ts";

onDatabase("postgres", (database) => {
  it("[K-05] no combination of planner settings makes a claim take more than its limit", async () => {
    const db = await database.open();
    for (let n = 0; n < 50; n++)
      await insertRow(db, `row-${String(n).padStart(2, "0")}`, { recoveries: n % 2 });
    const claims = await underEveryPlan(
      await database.place(),
      () => claimSagas(db.dialect, [LANE], 5, "me", LEASE_MS),
      "select 1 from amends.saga_executions where token > 0",
    );
    for (const { off, returned, changed } of claims) expect([off, returned, changed]).toEqual([off, 5, 5]);
  }, 60_000);

  it("[K-05] a claim that is written the usual way does take more under such a plan: the switches bite", async () => {
    const db = await database.open();
    for (let n = 0; n < 50; n++) await insertRow(db, `row-${n}`);
    const client = new pg.Client(await database.place());
    await client.connect();
    try {
      const off = SWITCHES.filter((name) => name !== "nestloop" && name !== "seqscan");
      for (const name of off) await client.query(`set enable_${name} = off`);
      const { rowCount } =
        await client.query(`update amends.saga_executions set token = token + 1 where id in (
        select id from amends.saga_executions where status = 'PENDING' limit 5 for update skip locked)`);
      expect(rowCount).toBeGreaterThan(5);
    } finally {
      await client.end();
    }
  });

  it("[K-05] statistics that are wrong by orders of magnitude do not either", async () => {
    const db = await database.open();
    for (let n = 0; n < 50; n++) await insertRow(db, `row-${n}`);
    await db.query(sql`analyze amends.saga_executions`);
    for (const [pages, tuples] of [
      [1, 1],
      [100_000, 10_000_000],
    ]) {
      const client = new pg.Client(await database.place());
      await client.connect();
      await client.query("begin");
      await client.query(
        `update pg_class set relpages = ${pages}, reltuples = ${tuples} where oid = 'amends.saga_executions'::regclass`,
      );
      const statement = claimSagas(db.dialect, [LANE], 5, "me", LEASE_MS);
      const { rows } = await client.query({ text: statement.text, values: [...statement.values] });
      expect(rows).toHaveLength(5);
      await client.query("rollback");
      await client.end();
    }
  });
});

onDatabase("sqlite", (database) => {
  it("[K-05] statistics that are wrong by orders of magnitude do not make a claim take more than its limit", async () => {
    const db = await database.open();
    for (let n = 0; n < 50; n++)
      await insertRow(db, `row-${String(n).padStart(2, "0")}`, { recoveries: n % 2 });
    await db.query(sql`analyze`);
    for (const stat of ["1 1 1 1", "10000000 10000000 1 1", "50 25 1 1"]) {
      await db.query(sql`update sqlite_stat1 set stat = ${stat}`);
      // Another connection reads the statistics anew.
      const other = await database.open();
      const rows = await other.query(claimSagas(db.dialect, [LANE], 5, "me", LEASE_MS));
      expect(rows).toHaveLength(5);
    }
    const [claimed] = await db.query(
      sql`select count(*) as n from ${db.dialect.table("saga_executions")} where token > 0`,
    );
    expect(claimed).toEqual({ n: 15 });
  });
});
