/** Trouble with the database at every operation of a saga's life, in both ways: never recorded, nothing done twice. */
import { err, ok, saga, Terminal } from "amends";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { trouble as ofPostgres } from "../../src/storage/postgres/trouble.ts";
import { trouble as ofSqlite } from "../../src/storage/sqlite/trouble.ts";
import { sql, type Sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase, type DatabaseName, type TestDatabase } from "../support/databases.ts";
import { effect, effects, makeEffects, transactionOn } from "../sagas/support/effects-table.ts";
import { gate } from "../sagas/support/gate.ts";
import { faulty, withCode, type When } from "./support/faults.ts";

const CODES: Readonly<Record<DatabaseName, readonly string[]>> = {
  postgres: ["40001", "40P01", "57P01", "53300", "55P03", "ECONNRESET", "EPIPE"],
  sqlite: ["SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_BUSY_SNAPSHOT"],
};

/** Its calls, in order, and a saga of three steps, the second of which is transactional. */
function sagaOn(name: DatabaseName, calls: string[], fails: boolean) {
  const note = (what: string): void => void calls.push(what);
  return saga("three", z.object({}))
    .step("one", { act: () => (note("one"), { n: 1 }), compensate: () => note("undo one") })
    .step("two", {
      transaction: transactionOn(name),
      act: async ({ tx, sagaId }) => {
        note("two");
        await effect(tx, `two of ${sagaId}`);
        return 2;
      },
      compensate: async ({ tx, sagaId }) => {
        note("undo two");
        await effect(tx, `undo two of ${sagaId}`);
      },
    })
    .step("three", {
      act: ({ emit }) => {
        note("three");
        if (fails) return err("no");
        emit({ type: "Finished", data: { n: 3 } });
        return ok(3);
      },
    });
}

/** One saga with one fault; returns what the tables say, or undefined where the fault came too late to happen. */
async function once(
  database: TestDatabase,
  real: Database,
  at: { number: number; times: number; when: When; code: string },
  fails: boolean,
): Promise<boolean> {
  const calls: string[] = [];
  const definition = sagaOn(database.name, calls, fails);
  const faults = faulty(real);
  const amends = await database.amends({ sagas: [definition], database: faults.db });
  const worker = await database.worker(amends);
  const id = `${at.code}-${at.when}-${at.number}-${at.times}-${String(fails)}`;
  faults.plan(at.number, at.times, at.when, withCode(at.code));
  const outcome = await (await amends.start(definition, {}, { id })).result();
  await worker.stop();

  const view = await amends.inspect(id);
  const failed = view?.timeline.filter((line) => line.kind === "step" && line.status === "FAILED");
  const finished = view?.timeline.filter((line) => line.kind === "step" && line.status === "COMPLETED");
  const expected = fails
    ? { status: "FAILED", failed: ["three"], finished: ["one", "two", "two", "one"] }
    : { status: "COMPLETED", failed: [], finished: ["one", "two", "three"] };
  expect({
    at,
    status: outcome.status,
    failed: failed?.map((line) => line.name),
    finished: finished?.map((line) => line.name),
  }).toEqual({ at, ...expected });

  // What commits together with its line happened exactly once, however often it was tried.
  const mine = (await effects(real)).filter((what) => what.endsWith(id));
  expect([at, mine]).toEqual([at, fails ? [`two of ${id}`, `undo two of ${id}`] : [`two of ${id}`]]);
  const events = await real.query(
    sql`select entry_id from ${real.dialect.table("outbox")} where saga_id = ${id}`,
  );
  expect([at, events.length]).toEqual([at, fails ? 0 : 1]);
  expect([at, calls.filter((call) => call === "one").length]).toEqual([at, 1]);
  return faults.fired() > 0;
}

onEachDatabase((database) => {
  it.each(CODES[database.name])(
    "[K-12] %s at any operation is retried and never recorded",
    async (code) => {
      const real = await database.open();
      await makeEffects(real);
      for (const fails of [false, true]) {
        let number = 1;
        while (await once(database, real, { number, times: 1, when: "before", code }, fails)) number++;
        expect(number).toBeGreaterThan(4);
      }
    },
    90_000,
  );

  it("[K-12] a commit whose answer is lost, at any operation, is read again and not repeated", async () => {
    const real = await database.open();
    await makeEffects(real);
    const code = database.name === "postgres" ? "57P01" : "SQLITE_BUSY";
    for (const fails of [false, true]) {
      let number = 1;
      while (await once(database, real, { number, times: 1, when: "after", code }, fails)) number++;
      expect(number).toBeGreaterThan(3);
    }
  }, 90_000);

  it("[K-12] trouble that lasts longer than a call waits for is not recorded as the outcome of a transactional step", async () => {
    const real = await database.open();
    await makeEffects(real);
    const held = gate();
    const definition = saga("long", z.object({}))
      .step("one", { act: () => held.pass() })
      .step("two", { transaction: transactionOn(database.name), act: ({ tx }) => effect(tx, "two") });
    const faults = faulty(real);
    const amends = await database.amends({ sagas: [definition], database: faults.db });
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(definition, {}, { id: "long" });
    await held.reached;
    // The checkpoint of the first step comes first; what follows fails more often than a caller would wait for.
    faults.plan(2, 9, "before", withCode(database.name === "postgres" ? "40001" : "SQLITE_BUSY"));
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(faults.fired()).toBe(9);
    const { timeline = [] } = (await amends.inspect("long")) ?? {};
    expect(timeline.filter((line) => line.kind === "step" && line.status === "FAILED")).toEqual([]);
    expect(await effects(real)).toEqual(["two"]);
  }, 90_000);

  it("[K-12] trouble at the claim of a recorded saga costs neither the saga nor an attempt", async () => {
    const real = await database.open();
    const calls: string[] = [];
    const definition = saga("one", z.object({})).step("one", { act: () => void calls.push("one") });
    const recorder = await database.amends({ sagas: [definition] });
    await recorder.start(definition, {}, { id: "recorded" });
    const faults = faulty(real);
    const amends = await database.amends({ sagas: [definition], database: faults.db });
    for (const code of CODES[database.name]) {
      faults.plan(3, 1, "before", withCode(code));
      await amends.worker().runOnce();
    }
    expect(await recorder.inspect("recorded")).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
    expect(calls).toEqual(["one"]);
  });

  it("[K-15] another system that cannot be reached from a transactional step is that step's failure, and ends it", async () => {
    const real = await database.open();
    let calls = 0;
    const definition = saga("reaches", z.object({})).step("one", {
      transaction: transactionOn(database.name),
      retry: { attempts: 1 },
      act: () => {
        calls++;
        throw Object.assign(new Error("the connection to the shop was refused"), { code: "ECONNREFUSED" });
      },
    });
    const amends = await database.amends({ sagas: [definition], database: real });
    await database.worker(amends);
    const outcome = await (await amends.start(definition, {})).result();
    expect(outcome).toMatchObject({ status: "FAILED", error: { kind: "exhausted", label: "ECONNREFUSED" } });
    expect(calls).toBeLessThanOrEqual(8);
  });

  it("[K-15] a Terminal inside a transactional step is permanent, whatever its code looks like", async () => {
    const real = await database.open();
    await makeEffects(real);
    for (const code of ["EXPIRED", "EPIPE", "40001", "SQLITE_BUSY", "connection-timeout"]) {
      let calls = 0;
      const definition = saga("ends", z.object({})).step("one", {
        transaction: transactionOn(database.name),
        act: () => {
          calls++;
          throw new Terminal(code);
        },
      });
      const amends = await database.amends({ sagas: [definition], database: real });
      const worker = await database.worker(amends);
      const outcome = await (await amends.start(definition, {})).result();
      await worker.stop();
      expect([code, calls, outcome]).toMatchObject([
        code,
        1,
        { status: "FAILED", error: { kind: "terminal", label: code } },
      ]);
    }
  });
});

onDatabase("sqlite", (database) => {
  it("[K-12] a file that another connection has locked passes, whichever way a statement is sent", async () => {
    const [first, second] = [await database.open(), await database.open()];
    const insert = (owner: string): Sql =>
      sql`insert into ${first.dialect.table("workers")} (owner, started_at, seen_at)
        values (${owner}, 0, 0)`;
    await first.transaction(async (session) => {
      await session.query(insert("first"));
      for (const write of [
        () => second.query(insert("second")),
        () => second.query(sql`${insert("third")} returning owner`),
        () => second.batch([insert("fourth")]),
        () => second.transaction((other) => other.query(insert("fifth"))),
      ]) {
        const error: unknown = await write().catch((thrown: unknown) => thrown);
        expect(second.dialect.trouble(error)).toMatchObject({
          kind: "transient",
          code: "DATABASE_UNREACHABLE",
        });
      }
    });
  });
});

describe("what errors mean", () => {
  it("[K-12] PostgreSQL: trouble that passes, a fate that is unknown, and what is the statement's own fault", () => {
    const kinds = (codes: readonly string[]): unknown => [
      ...new Set(codes.map((code) => ofPostgres({ code }).kind)),
    ];
    expect(kinds(["40001", "40P01", "53300", "53400", "55P03", "57014", "57P03", "ECONNREFUSED"])).toEqual([
      "transient",
    ]);
    expect(kinds(["57P01", "57P02", "08006", "08003", "ECONNRESET", "EPIPE", "ETIMEDOUT"])).toEqual([
      "unknown",
    ]);
    expect(kinds(["23505", "22P02", "42601", "XX000", "P0001"])).toEqual(["permanent"]);
    expect(ofPostgres({ code: "25006" })).toMatchObject({ code: "DATABASE_READ_ONLY" });
    expect(ofPostgres({ code: "42P01" })).toMatchObject({ code: "SCHEMA_MISSING" });
    expect(ofPostgres(new Error("Connection terminated unexpectedly")).kind).toBe("unknown");
    for (const odd of [null, undefined, "text", 7]) expect(ofPostgres(odd).kind).toBe("permanent");
  });

  it("[K-12] SQLite: busy and locked pass, however the driver writes them", () => {
    for (const error of [
      { errcode: 5 },
      { errcode: 517 },
      { code: "SQLITE_BUSY" },
      { code: "SQLITE_BUSY_SNAPSHOT" },
      { errcode: 6 },
      { code: "ERR_SQLITE_ERROR", message: "database is locked" },
    ]) {
      expect([error, ofSqlite(error).kind]).toEqual([error, "transient"]);
    }
    expect(ofSqlite({ errcode: 8 })).toMatchObject({ code: "DATABASE_READ_ONLY" });
    for (const error of [
      { errcode: 19 },
      { code: "ERR_SQLITE_ERROR", message: "x" },
      { code: "SQLITE_CONSTRAINT_UNIQUE" },
      new Error("x"),
      null,
    ]) {
      expect(ofSqlite(error).kind).toBe("permanent");
    }
  });
});
