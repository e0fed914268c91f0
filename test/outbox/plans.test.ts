/** With many finished entries, and statistics from a moment when there were no others, no statement reads them all. */
import { AuditTrail } from "amends/audit";
import { defineCall } from "amends/calls";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite, type Explainer } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop } from "./support/shop.ts";
import { eraser, keeper, rectifier, verifier } from "./support/systems.ts";

const FINISHED = 20_000;

/** Finished entries and their events, then statistics: the moment at which statistics mislead most. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const query = (statement: Sql) => db.query(statement);
  const isPostgres = dialect.name === "postgres";
  const numbers = isPostgres
    ? sql`generate_series(1, ${raw(String(FINISHED))}) as g(n)`
    : sql`(with recursive g(n) as (select 1 union all select n + 1 from g where n < ${raw(String(FINISHED))}) select n from g) as g`;
  const id = isPostgres ? raw("gen_random_uuid()") : raw("lower(hex(randomblob(16)))");
  for (const table of ["outbox", "audit_events"])
    if (isPostgres) await query(sql`alter table ${dialect.table(table)} set (autovacuum_enabled = false)`);
  await query(sql`insert into ${dialect.table("outbox")}
      (entry_id, kind, name, subject_id, operation, ref_kind, ref_value, status, attempts, enqueued_at)
    select ${id}, 'erasure', 'stripe', 'finished-' || n, 'erase', 'stripe', 'x', 'succeeded', 1, ${dialect.now()} from ${numbers}`);
  await query(sql`insert into ${dialect.table("audit_events")} (id, type, subject_id, at, payload)
    select ${id}, 'ERASURE_COMPLETED', 'finished-' || n, ${dialect.now()}, '{}' from ${numbers}`);
  await query(raw("analyze"));
}

/** Everything that the outbox, its runner and the trail say to a database, for one entry and for many. */
async function statementsOf(database: TestDatabase, db: Database): Promise<readonly Sql[]> {
  const { database: watched, statements } = recorded(db);
  const world = await shop(database, { database: watched });
  const { outbox, enqueue } = world;
  const resolvers = [
    eraser("stripe"),
    rectifier("crm"),
    verifier("search", () => true),
    keeper("logs", () => ({ expiresAt: new Date("2100-01-01") })),
    eraser("busy", () => Promise.reject(new Error("busy"))),
  ];
  const runner = runnerOn(world, resolvers, { batchSize: 300 });
  for (const count of [1, 200]) {
    const subjects = Array.from({ length: count }, (_, index) => `u-${count}-${index}`);
    for (const name of ["stripe", "search", "logs", "busy", "unknown"])
      await enqueue(...subjects.map((subject) => erase(subject, name)));
    await runner.runOnce();
    await enqueue(...subjects.map((subject) => rectify(subject, "x", "crm")));
    await enqueue(...subjects.map((subject) => rectify(subject, "y", "crm")));
    await runner.runOnce();
    for (let left = 1; left > 0;) left = await runner.runOnce();
  }
  const page = await outbox.listAbandoned({ limit: 2 });
  await outbox.listAbandoned({ limit: 2, after: page.next as string });
  await outbox.listScheduled({ limit: 2 });
  await outbox.requeue(page.entries.map(({ entryId }) => entryId));
  await db.transaction((_session, tx) => outbox.completeLocally(tx, { subjectId: "u", operation: "erase" }));
  const [held] = await outbox.claimBatch(2);
  await outbox.markSucceeded(held as never);
  const call = defineCall("mail", { schema: z.object({}), handle: () => undefined });
  const { calls } = await database.amends({ database: watched, calls: [call] });
  await watched.transaction((_session, tx) => calls.enqueue(call, {}, { tx }));
  for (const _again of [1, 2]) await calls.enqueue(call, {}, { id: "once", delay: 0 });
  await calls.runOnce();
  const trail = new AuditTrail(watched);
  await trail.list({ subjectId: "u-1-0" });
  await trail.list({ limit: 10 });
  return statements();
}

async function scansOf(statements: readonly Sql[], explainer: Explainer): Promise<readonly string[]> {
  const found = new Set<string>();
  const isOurs = ({ sql: text }: Sql): boolean =>
    /(outbox|audit_events)/.test(text) && /^\s*(select|insert|update|with|delete)/i.test(text);
  const distinct = new Map(statements.filter(isOurs).map((one) => [`${one.sql}${one.values.length}`, one]));
  expect(distinct.size).toBeGreaterThan(15);
  for (const statement of distinct.values())
    for (const scan of await explainer.scans(statement))
      found.add(`${scan}: ${statement.sql.replaceAll(/\s+/g, " ").slice(0, 300)}`);
  await explainer.end();
  return [...found];
}

onDatabase("sqlite", (database) => {
  it("[O-04] [O-17] indexes serve every statement on the outbox, whatever the statistics say", async () => {
    const db = await database.open();
    await fill(db);
    expect(await scansOf(await statementsOf(database, db), explainSqlite(db))).toEqual([]);
  }, 60_000);
});

onDatabase("postgres", (database) => {
  it("[O-04] [O-17] indexes serve every statement on the outbox, whatever the statistics say", async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(await scansOf(statements, await explainPostgres(await database.place(), "generic"))).toEqual([]);
  }, 60_000);
});
