/** The planner may do what it wants: no choice of it lets a lease of jobs take more of them than it was allowed to. */
import { expect, it } from "vitest";
import { leaseJobs, selectResults } from "../../src/webhooks/deliver/job-queries.ts";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase } from "../support/databases.ts";
import { underEveryPlan } from "../support/hostile-plans.ts";
import { stage } from "./support/stage.ts";

const TERMS = { owner: "me", leaseMs: 60_000 };

onDatabase("postgres", (database) => {
  it("[K-05] no combination of planner settings makes a lease of jobs take more than its limit", async () => {
    const { db, subscribe } = await stage(database);
    await subscribe("a");
    const { dialect } = db;
    await db.query(sql`insert into ${dialect.table("webhook_jobs")} (saga_id, event_id, subscription_id, attempt, created_at, next_attempt_at)
      select n, n, 1, 1, ${dialect.now()}, ${dialect.now()} from generate_series(1, 50) as g(n)`);
    const claims = await underEveryPlan(
      await database.place(),
      () => leaseJobs(dialect, 5, TERMS),
      "select 1 from amends.webhook_jobs where token > 0",
    );
    for (const { off, returned, changed } of claims) expect([off, returned, changed]).toEqual([off, 5, 5]);
  }, 60_000);

  it("[K-05] nor more results than its limit be applied at once", async () => {
    const { db, subscribe } = await stage(database);
    await subscribe("a");
    const { dialect } = db;
    await db.query(sql`insert into ${dialect.table("webhook_jobs")}
        (saga_id, event_id, subscription_id, attempt, status, report, result, created_at, finished_at)
      select n, n, 1, 1, 'Failed', gen_random_uuid(), '{}', ${dialect.now()}, ${dialect.now()} from generate_series(1, 50) as g(n)`);
    const picks = await underEveryPlan(
      await database.place(),
      () => selectResults(dialect, 3, 5),
      "select 1 where false",
    );
    for (const { off, returned } of picks) expect([off, returned]).toEqual([off, 5]);
  }, 60_000);
});

onDatabase("sqlite", (database) => {
  it("[K-05] statistics that are wrong by orders of magnitude do not make a lease of jobs take more than its limit", async () => {
    const { db, clock, subscribe } = await stage(database);
    await subscribe("a");
    const { dialect } = db;
    await db.query(sql`insert into ${dialect.table("webhook_jobs")} (saga_id, event_id, subscription_id, attempt, created_at, next_attempt_at)
      with recursive g(n) as (select 1 union all select n + 1 from g where n < 50)
      select n, n, 1, 1, ${dialect.now()}, ${dialect.now()} from g`);
    await db.query(sql`analyze`);
    for (const stat of ["1 1 1 1", "10000000 10000000 1 1", "50 25 1 1"]) {
      await db.query(sql`update sqlite_stat1 set stat = ${stat}`);
      // Another connection reads the statistics anew.
      const other = await database.open({ clock });
      expect(await other.query(leaseJobs(other.dialect, 5, TERMS))).toHaveLength(5);
    }
    const [claimed] = await db.query(
      sql`select count(*) as n from ${dialect.table("webhook_jobs")} where token > 0`,
    );
    expect(claimed).toEqual({ n: 15 });
  });
});
