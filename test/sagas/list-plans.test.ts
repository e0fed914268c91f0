/** Among 100,000 sagas no list and no count reads more of an index than its page needs, whatever the filters are. */
import type { SagaStatus } from "amends";
import type { SagaListOptions } from "amends/sagas";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onEachDatabase } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";

const COUNT = 100_000;
const STATES: readonly SagaStatus[] = [
  "PENDING",
  "RUNNING",
  "COMPENSATING",
  "STALLED",
  "COMPLETED",
  "FAILED",
];

/** A third of all is open. Statistics are of half of it, so that they mislead. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const table = dialect.table("saga_executions");
  const state = sql`case r.n % 12 when 0 then 'PENDING' when 1 then 'RUNNING' when 2 then 'COMPENSATING' when 3 then 'STALLED' when 4 then 'FAILED' else 'COMPLETED' end`;
  const label = sql`case when r.n % 12 in (2, 3, 4) then 'Error' || (r.n % 5) end`;
  const attributes = sql`'{"many":' || (r.n % 2) || ',"one":"' || r.n || '"}'`;
  const at = dialect.plusMs(dialect.now(), sql`(0 - r.n * 100)`);
  const add = async (prefix: string): Promise<void> => {
    await db.query(sql`insert into ${table} (id, name, kind, status, context, plan, error_label, attributes, next_attempt_at, created_at, updated_at)
      select ${prefix} || r.n, 'saga-' || (r.n % 7), 'saga-' || (r.n % 7) || '@1#', ${state}, '{"input":{}}', 'one', ${label}, ${attributes}, ${at}, ${at}, ${at}
      from ${numbered(dialect, COUNT / 2)}`);
  };
  if (dialect.name === "postgres") {
    for (const name of ["saga_executions", "saga_attributes"])
      await db.query(sql`alter table ${dialect.table(name)} set (autovacuum_enabled = false)`);
  }
  await add("a-");
  await db.query(raw("analyze"));
  await add("b-");
}

const FILTERS: readonly SagaListOptions[] = [
  {},
  { saga: "saga-3" },
  ...STATES.flatMap((status) => [{ status }, { status, saga: "saga-3" }]),
  { status: ["RUNNING", "FAILED"], since: new Date(0), until: new Date() },
  { attributes: { many: 1 } },
  { attributes: { one: "77" } },
  { attributes: { many: 1 }, status: "STALLED", saga: "saga-3" },
  { attributes: { many: 1, one: "77" } },
  { attributes: { many: 1 }, since: new Date(0), until: new Date() },
  { error: "Error2" },
  { error: "Error2", status: "STALLED", saga: "saga-3" },
  { error: "Error2", attributes: { many: 1 } },
];

const WATCH = { small: /^$/, tables: ["saga_executions", "saga_attributes"] };

/** What a statement made itself, and walks over; and the index of stalled sagas, in its order and up to a limit. */
const OWN =
  /^SCAN (?:s|k|u|names|first|listed|walk|counted|hits|last|CONSTANT ROW|json_each.*)$|saga_executions_stalled$/;

onEachDatabase((database) => {
  it("[S-42][W-14] indexes serve lists and counts of sagas with every filter, among 100,000 of them", async () => {
    const db = await database.open();
    await fill(db);
    const { database: watched, statements } = recorded(db);
    const amends = await database.amends({ database: watched });
    for (const filter of FILTERS) {
      const { next } = await amends.list({ ...filter, limit: 5 });
      if (next !== undefined) await amends.list({ ...filter, limit: 5, after: next });
      await amends.count(filter);
    }
    const lists = statements().filter(({ sql: text }) => WATCH.tables.some((table) => text.includes(table)));
    expect(lists.length).toBeGreaterThan(FILTERS.length * 2);
    const explainer =
      database.name === "sqlite"
        ? explainSqlite(db, WATCH)
        : await explainPostgres(await database.place(), "generic", WATCH);
    const scans: string[] = [];
    for (const statement of lists)
      for (const scan of await explainer.scans(statement))
        if (!OWN.test(scan)) scans.push(`${scan}: ${statement.sql.replaceAll(/\s+/g, " ")}`);
    await explainer.end();
    expect(scans).toEqual([]);
    // Counting ends where it would cost too much.
    expect(await amends.count()).toEqual({ value: 10_000, exact: false });
    expect((await amends.list({ attributes: { one: "77" } })).items).toHaveLength(2);
  }, 120_000);
});
