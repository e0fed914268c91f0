/** With many finished sagas, and statistics from a moment when there were no others, no statement reads them all. */
import { FIRST_CLAIM } from "../support/claims.ts";
import { err, saga, signal } from "amends";
import { event } from "amends/events";
import { SqlSagaStorage } from "amends/storage";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { initial } from "../../src/core/saga/state.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import { flush, flushInside, type Execute, type Item } from "../../src/sagas/journal/flush.ts";
import type { Move } from "../../src/sagas/journal/journal.ts";
import { claimSagas, renewSagas, selectLogs } from "../../src/sagas/journal/queries.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { explainPostgres, explainSqlite, type Explainer } from "./plans.ts";
import { recorded } from "./recorded-database.ts";

const FINISHED = 20_000;
const OPEN = 300;

/** Finished sagas, then statistics, then open ones: the moment at which statistics mislead most. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const executions = dialect.table("saga_executions");
  const logs = dialect.table("saga_logs");
  const signals = dialect.table("saga_signals");
  const interests = dialect.table("saga_interests");
  const numbers = (count: number): Sql =>
    dialect.name === "postgres"
      ? sql`generate_series(1, ${raw(String(count))}) as g(n)`
      : sql`(with recursive g(n) as (select 1 union all select n + 1 from g where n < ${raw(String(count))}) select n from g) as g`;
  const add = (count: number, prefix: string, status: Sql): Sql =>
    sql`insert into ${executions} (id, name, kind, status, context, plan, version, token, next_attempt_at, created_at, updated_at)
      select '${raw(prefix)}' || n, 'chain', 'chain@1#', ${status}, '{"input":{}}', 'one~ two', 3, 1, ${dialect.now()}, ${dialect.now()}, ${dialect.now()}
      from ${numbers(count)}`;
  if (dialect.name === "postgres") {
    for (const table of [executions, logs, signals, interests])
      await db.query(sql`alter table ${table} set (autovacuum_enabled = false)`);
  }
  await db.query(add(FINISHED, "finished-", sql`'COMPLETED'`));
  for (const [id, step] of [
    [2, "one"],
    [3, "two"],
  ] as const) {
    await db.query(sql`insert into ${logs} (saga_id, id, token, step_name, action, status, created_at)
      select id, ${raw(String(id))}, 1, '${raw(step)}', 'act', 'COMPLETED', ${dialect.now()} from ${executions}`);
  }
  await db.query(sql`insert into ${signals} (saga_id, number, name, dedupe_id, created_at)
    select id, 1, 'go', id, ${dialect.now()} from ${executions}`);
  await db.query(sql`insert into ${interests} (event_type, field, value, saga_id, place, step_name)
    select 'Paid', 'orderId', '"' || id || '"', 'other-' || id, 0, 'payment' from ${executions}`);
  await db.query(raw("analyze"));
  await db.query(
    add(OPEN, "open-", sql`case n % 3 when 0 then 'PENDING' when 1 then 'RUNNING' else 'STALLED' end`),
  );
}

const chain = saga("chain", z.object({ end: z.string() }))
  .step("one", {
    act: ({ emit }) => emit({ type: "done" }),
    compensate: () => {
      throw new TypeError("broken");
    },
    compensateRetry: { attempts: 1 },
  })
  .step("two", { act: ({ input }) => (input.end === "COMPLETED" ? undefined : err("no")) });

const go = signal("go", z.string());
const Paid = event("Paid", z.object({ orderId: z.string() }));
const patient = saga("patient", z.object({ orderId: z.string() }))
  .waitFor("go", { signal: go })
  .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId });

/** Everything that the engine, the operators and the storage contract say to a database. */
async function statementsOf(database: TestDatabase, db: Database): Promise<readonly Sql[]> {
  const { database: watched, statements } = recorded(db);
  const { dialect } = db;
  const note = { reason: "test" };
  const amends = await database.amends({ database: watched, sagas: [chain, patient] });
  await amends.start(chain, { end: "COMPLETED" }, { id: "pending" });
  await amends.cancel("pending", note);
  const worker = await database.worker(amends);
  await (await amends.start(chain, { end: "COMPLETED" })).result();
  await (await amends.start(chain, { end: "STALLED" }, { id: "stalled" })).result();
  const waiting = await amends.start(patient, { orderId: "o-1" });
  await amends.signal(waiting.id, go, "now");
  await amends.events.publish(Paid({ orderId: "o-1" }));
  await waiting.result();
  const page = await amends.attention.list({ limit: 2 });
  await amends.attention.list({ limit: 2, ...(page.next !== undefined && { after: page.next }) });
  await amends.resolve("stalled", "FAILED", note);
  await vi.waitFor(() => expect(amends.counters.claimed).toBeGreaterThan(0));
  await worker.stop();

  const storage = new SqlSagaStorage(watched);
  await storage.createSaga("own", "chain", {});
  await storage.getSagasForRecovery(10);
  await storage.getSagasForRecovery(10, 5, 60, "chain");
  await storage.createRun(async (run) => {
    await run.updateContext("own", { n: 1 });
    await run.logStep("own", "one", "act", "STARTED");
    await run.commit();
  });
  await storage.incrementRecoveryAttempts("own");
  await storage.getStepHistory("own");

  const holds = Array.from({ length: 100 }, (_, n) => ({ id: `open-${n}`, token: FIRST_CLAIM }));
  return [
    ...statements(),
    renewSagas(dialect, holds, 60_000),
    selectLogs(
      dialect,
      holds.map(({ id }) => id),
    ),
    claimSagas(dialect, ["chain@1#", "patient@1#"], 100, "owner", 60_000),
    ...(await flushesOf(db, 1)),
    ...(await flushesOf(db, 100)),
  ];
}

const COMPLETED: Move = {
  from: "RUNNING",
  to: "COMPLETED",
  releaseMs: undefined,
  error: null,
  recovered: false,
};
const TURNED_BACK: Move = { ...COMPLETED, to: "COMPENSATING", releaseMs: 10, recovered: true };

/** What the group writer sends for so many starts and checkpoints at once, in the engine's own way and inside a transaction. */
async function flushesOf(
  { dialect }: Database,
  count: number,
  move: Move = TURNED_BACK,
): Promise<readonly Sql[]> {
  const sent: Sql[] = [];
  const execute: Execute = async (statements) => {
    sent.push(...statements);
    return statements.map(() => []);
  };
  const pieces = Array.from({ length: count }, (_, n): Item[] => {
    const entry = { step: "one", action: "act", status: "COMPLETED", details: null } as const;
    const checkpoint = { epoch: 0, token: FIRST_CLAIM, version: 4, entry, state: initial(chain.plan, true) };
    const emissions = [{ entryId: newId(), type: "done", payload: null, version: 1 }];
    const start = { id: `new-${n}`, name: "chain", definition: 1, input: "{}", plan: chain.plan };
    return [
      {
        start: {
          ...start,
          deadlineMs: 1_000,
          owner: n % 2 ? "owner" : undefined,
          token: n % 2 ? FIRST_CLAIM : 0,
          leaseMs: 60_000,
          interests: [],
          gate: undefined,
          priority: 0,
          attributes: undefined,
        },
      },
      { checkpoint: { ...checkpoint, sagaId: `open-${3 * n + 1}`, emissions: [], move: undefined } },
      { checkpoint: { ...checkpoint, sagaId: `open-${3 * n + 2}`, emissions, move } },
    ];
  }).flat();
  await flush(dialect, execute, pieces);
  await flushInside(dialect, execute, pieces);
  return sent;
}

async function scansOf(statements: readonly Sql[], explainer: Explainer): Promise<readonly string[]> {
  const found: string[] = [];
  for (const statement of statements) {
    if (
      !/saga_(executions|logs|signals|interests)/.test(statement.sql) ||
      !/^\s*(select|insert|update|with|delete)/i.test(statement.sql)
    ) {
      continue;
    }
    for (const scan of await explainer.scans(statement)) {
      found.push(`${scan}: ${statement.sql.replaceAll(/\s+/g, " ")}`);
    }
  }
  await explainer.end();
  return found;
}

onDatabase("sqlite", (database) => {
  it("[S-03] indexes serve every statement on sagas, whatever the statistics say", async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(12);
    expect(await scansOf(statements, explainSqlite(db))).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it.each(["generic", "custom"] as const)(
    "[S-03] indexes serve every statement on sagas, whatever the statistics say (%s plans)",
    async (mode) => {
      const db = await database.open();
      await fill(db);
      const statements = await statementsOf(database, db);
      expect(statements.length).toBeGreaterThan(12);
      expect(await scansOf(statements, await explainPostgres(await database.place(), mode))).toEqual([]);
    },
  );

  it.each([COMPLETED, TURNED_BACK])(
    "[S-03] a flush that was planned while the tables were empty finds its sagas by their ids (to $to)",
    async (move) => {
      const db = await database.open();
      await database.amends({ database: db, sagas: [chain] });
      const statements = await flushesOf(db, 100, move);
      const explainer = await explainPostgres(await database.place(), "generic");
      const others: string[] = [];
      for (const statement of statements)
        for (const index of await explainer.indexes(statement))
          if (index.startsWith("saga_executions") && index !== "saga_executions_pkey")
            others.push(`${index}: ${statement.sql}`);
      expect(others).toEqual([]);
      await explainer.end();
    },
  );
});
