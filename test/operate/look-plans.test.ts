/** Beside thousands of finished rows and of rows that wait, a worker's look reads the first entries of indexes. */
import { saga } from "amends";
import { defineCall } from "amends/calls";
import { event, handler, ok } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { kindOf } from "../../src/sagas/kinds/kind-of.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite, type Explainer } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { insertMany } from "../schedules/support/many.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";
import { until } from "../support/until.ts";
import { isLook } from "./support/traffic.ts";

const FINISHED = 5_000;
const WAITING = 2_000;

const nothing = z.object({});
const order = saga("order", nothing).step("one", { act: () => 1 });
const mail = defineCall("mail", { schema: nothing, handle: () => undefined });
const [Paid, Noted, NotNoted] = [event("Paid", nothing), event("Noted", nothing), event("NotNoted", nothing)];
const note = handler("note", { on: Paid, ok: Noted, err: NotNoted, handle: () => ok(Noted({})) });

const WATCH = { small: /^$/, tables: ["saga_executions", "outbox", "saga_state", "schedules"] };

/** Finished rows, then statistics, then rows that wait for an hour: the moment at which statistics mislead most. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const now = dialect.now();
  const later = dialect.plusMs(now, 3_600_000);
  const sagas = async (count: number, status: string, gate: Sql): Promise<void> => {
    await db.query(sql`insert into ${dialect.table("saga_executions")}
        (id, name, status, context, plan, kind, next_attempt_at, created_at, updated_at)
      select ${status} || r.n, 'order', ${status}, '{"input":{}}', 'one', ${kindOf(order.name, order.version, order.plan)},
        ${gate}, ${now}, ${now} from ${numbered(dialect, count)}`);
  };
  const entries = async (count: number, kind: string, lane: string, status: string): Promise<void> => {
    await db.query(sql`insert into ${dialect.table("outbox")}
        (entry_id, kind, name, lane, status, next_attempt_at, enqueued_at)
      select r.id, ${kind}, ${kind === "call" ? "mail" : "Paid"}, ${lane}, ${status},
        ${status === "pending" ? later : raw("null")}, ${now} from ${numbered(dialect, count)}`);
  };
  if (dialect.name === "postgres")
    for (const table of WATCH.tables)
      await db.query(sql`alter table ${dialect.table(table)} set (autovacuum_enabled = false)`);
  await sagas(FINISHED, "COMPLETED", raw("null"));
  await entries(FINISHED, "call", "mail", "succeeded");
  await db.query(sql`insert into ${dialect.table("saga_state")}
      (saga_id, saga_type, process_id, status, trigger_id, trail, started_at, updated_at, rested_at)
    select 'run-' || r.n, 'shipping', 'p-' || r.n, 'completed', r.id, '[]', ${now}, ${now}, ${now}
    from ${numbered(dialect, FINISHED)}`);
  await insertMany(db, FINISHED);
  await db.query(raw("analyze"));
  await sagas(WAITING, "RUNNING", later);
  await entries(WAITING, "call", "mail", "pending");
}

/** The look of a worker with these parts. */
async function lookOf(database: TestDatabase, db: Database): Promise<Sql> {
  const { database: watched, statements } = recorded(db);
  const amends = await database.amends({ database: watched, sagas: [order], calls: [mail], events: [note] });
  const worker = await database.worker(amends);
  const found = await until(() => statements().find(({ sql: text }) => isLook(text)));
  await worker.stop({ deadline: "0s" });
  return found;
}

async function scansOf(
  database: TestDatabase,
  db: Database,
  explainer: Explainer,
): Promise<readonly string[]> {
  await fill(db);
  const scans = await explainer.scans(await lookOf(database, db));
  await explainer.end();
  return scans;
}

onDatabase("sqlite", (database) => {
  it("[K-24] a worker's look reads no table and no index from end to end", async () => {
    const db = await database.open();
    expect(await scansOf(database, db, explainSqlite(db, WATCH))).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it("[K-24] a worker's look reads no table and no index from end to end", async () => {
    const db = await database.open();
    const explainer = await explainPostgres(await database.place(), "generic", WATCH);
    expect(await scansOf(database, db, explainer)).toEqual([]);
  });
});
