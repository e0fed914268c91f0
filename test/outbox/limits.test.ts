/** Calls that say how many of a key may run at the same time, and how many may begin within a period. */
import { Amends, AmendsError, err, saga } from "amends";
import { defineCall, type CallOptions, type Calls } from "amends/calls";
import { openSqlite, sqlite } from "amends/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { CallClaims } from "../../src/outbox/calls/claims.ts";
import { untilCallDue } from "../../src/outbox/calls/look-queries.ts";
import { OutboxWriter } from "../../src/outbox/outcome-writer.ts";
import { claimEntries, LIMITED_CALLS, returnToLanes } from "../../src/outbox/queries.ts";
import { dueEntryAge } from "../../src/outbox/read/figures.ts";
import { CLAIMED_CALL, type CallRow, type ClaimedCall } from "../../src/outbox/rows.ts";
import type { Database } from "../../src/storage/database.ts";
import { countStarts, surveyLanes, takeTurn } from "../../src/storage/limits/queries.ts";
import { readFigures } from "../../src/storage/read/figures.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite } from "../conformance/plans.ts";
import { gate } from "../sagas/support/gate.ts";
import { overheard } from "../sagas/support/overheard.ts";
import { onDatabase, onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";
import { until } from "../support/until.ts";
import { shop } from "./support/shop.ts";

const LEASE_MS = 60_000;
const SECOND_MS = 1_000;

const schema = z.object({ tenant: z.string(), n: z.number().optional() });
type Options = CallOptions<typeof schema>;
const key = ({ tenant }: { tenant: string }): string => tenant;
const running = (limit: number): Pick<Options, "concurrency"> => ({ concurrency: { key, limit } });
const rated = (limit: number, per: number): Pick<Options, "rate"> => ({ rate: { key, limit, per } });

function sync(options: Partial<Options> = {}, name: string = "sync") {
  return defineCall(name, { schema, handle: () => undefined, ...options });
}

/** A process that claims calls and makes none. */
function claimer(db: Database, isLimited: boolean = true, names: readonly string[] = ["sync", "plain"]) {
  const nothing = { answered: () => undefined, trouble: () => undefined };
  const host = { database: db, closing: new AbortController().signal, watch: () => nothing };
  const writer = new OutboxWriter({ ...host, onRefused: () => undefined });
  const held: number[] = [];
  const claims = new CallClaims({ writer, clock: db.clock, isLimited, onHeld: (ms) => held.push(ms) });
  const claim = (limit: number = 100): Promise<readonly ClaimedCall[]> =>
    claims.claim({ kind: "call", names, limit, leaseMs: LEASE_MS });
  return {
    claims,
    writer,
    held,
    claim,
    /** The tenants of the claimed calls. */
    take: async (limit?: number) => (await claim(limit)).map(tenantOf).toSorted().join(""),
    look: async () => {
      const look = claims.look(() => names);
      const expression = look.expression() ?? raw("null");
      return (await readFigures(db, { until: { expression, read: (value) => look.read(value) } })).until;
    },
  };
}

function tenantOf({ payload }: Pick<ClaimedCall, "payload">): string {
  return (JSON.parse(payload ?? "{}") as { tenant: string }).tenant;
}

async function enqueue(calls: Calls, call: ReturnType<typeof sync>, tenants: string): Promise<void> {
  for (const tenant of tenants) await calls.enqueue(call, { tenant });
}

async function callsOn(database: TestDatabase, db: Database, ...define: ReturnType<typeof sync>[]) {
  return (await database.amends({ database: db, calls: define })).calls;
}

onEachDatabase((database) => {
  it("[S-40] a claim takes no more calls of a key than its limit leaves, whoever claims", async () => {
    const db = await database.open({ clock: virtualClock() });
    const calls = await callsOn(database, db, sync(running(2)), sync({}, "plain"));
    await enqueue(calls, sync(running(2)), "aaabb");
    await enqueue(calls, sync({}, "plain"), "p");
    expect(await claimer(db).take()).toBe("aabbp");
    expect(await claimer(db).take()).toBe("");
    // Keys belong to the name of the call.
    const other = sync(running(1), "other");
    await enqueue(await callsOn(database, db, other), other, "a");
    expect(await claimer(db, true, ["other"]).take()).toBe("a");
  });

  it("[S-40] a place follows the lease of its call: it returns with the outcome, or when the lease ends", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const call = sync(running(1));
    await enqueue(await callsOn(database, db, call), call, "aaa");
    const dead = claimer(db);
    const first = await dead.claim();
    expect(first.map(tenantOf)).toEqual(["a"]);
    clock.jump(LEASE_MS / 2);
    const [worker, other] = [claimer(db), claimer(db)];
    expect(await worker.take()).toBe("");
    clock.jump(LEASE_MS / 2);
    const [second] = await worker.claim();
    expect(second?.attempts).toBe(1);
    await worker.writer.renew([second as ClaimedCall], 2 * LEASE_MS);
    clock.jump(LEASE_MS);
    expect(await other.take()).toBe("");
    // The lease of the first worker has ended: only a claim gives a place.
    expect([...(await dead.writer.renew(first, LEASE_MS))]).toEqual([]);
    await worker.writer.settle({
      ...(second as ClaimedCall),
      event: "fail",
      waitMs: LEASE_MS,
      error: "Down",
    });
    // What waits to be tried again has no place.
    expect(await other.take()).toBe("a");
    clock.jump(LEASE_MS);
    expect((await other.claim()).map(({ attempts }) => attempts)).toHaveLength(1);
    expect(await other.take()).toBe("");
  });

  it("[S-40] a rate counts first tries, in every period: later tries are neither counted nor held back", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const call = sync(rated(2, 10 * SECOND_MS));
    await enqueue(await callsOn(database, db, call), call, "aaaaa");
    const worker = claimer(db);
    const begun: string[] = [];
    for (let second = 0; second < 30; second++) {
      for (const entry of await worker.claim(second === 0 ? 1 : 100)) {
        begun.push(`${second}#${entry.attempts}`);
        const isFirst = entry.attempts === 1;
        await worker.writer.settle(
          isFirst
            ? { ...entry, event: "fail", waitMs: SECOND_MS, error: "Down" }
            : { ...entry, event: "succeed" },
        );
      }
      clock.jump(SECOND_MS);
    }
    expect(begun.filter((one) => one.endsWith("#1"))).toEqual(["0#1", "1#1", "10#1", "11#1", "20#1"]);
    expect(begun.filter((one) => one.endsWith("#2"))).toEqual(["1#2", "2#2", "11#2", "12#2", "21#2"]);
  });

  it("[S-40] a call that is given back counts once, and one that a person requeues begins anew", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const call = sync(rated(1, LEASE_MS));
    const calls = await callsOn(database, db, call);
    await enqueue(calls, call, "ab");
    const worker = claimer(db);
    const first = await worker.claim();
    expect(first.map(tenantOf).toSorted()).toEqual(["a", "b"]);
    for (const entry of first) {
      const isA = tenantOf(entry) === "a";
      await worker.writer.settle(
        isA ? { ...entry, event: "release", waitMs: 0 } : { ...entry, event: "abandon", error: "Down" },
      );
    }
    expect((await worker.claim()).map((entry) => [tenantOf(entry), entry.attempts])).toEqual([["a", 1]]);
    const ids = first.map(({ entryId }) => entryId);
    expect(await calls.requeue(ids, { reason: "it is up again" })).toHaveLength(1);
    expect(await worker.take()).toBe("");
    clock.jump(LEASE_MS);
    expect(await worker.take()).toContain("b");
    await enqueue(calls, call, "b");
    expect(await worker.take()).toBe("");
  });

  it("[S-40] every way to enqueue stores the key: alone, in a transaction, within a step, after an end", async () => {
    const world = await shop(database);
    const { db } = world;
    const call = sync({ ...running(1), ...rated(7, LEASE_MS) });
    const order = saga("order", schema)
      .step("only", {
        act: async ({ input: { tenant, n } }) => {
          await amends.calls.enqueue(call, { tenant });
          return n === 1 ? err("no") : 1;
        },
      })
      .onCompleted({ call, input: ({ input }) => input })
      .onFailed({ call, input: ({ input }) => input });
    const stalls = saga("stalls", schema)
      .pivot("only", { act: () => 1 })
      .step("after", { act: () => err("no") })
      .onStalled({ call, input: ({ input }) => input });
    const amends = await database.amends({ database: db, sagas: [order, stalls], calls: [call] });
    await amends.calls.enqueue(call, { tenant: "a" });
    await db.transaction((_session, tx) => amends.calls.enqueue(call, { tenant: "a" }, { tx }));
    const worker = amends.worker({ only: ["sagas"] });
    await amends.start(order, { tenant: "a" });
    await amends.start(order, { tenant: "a", n: 1 });
    await amends.start(stalls, { tenant: "a" });
    while ((await worker.runOnce()) > 0);
    const rows = (await world.rows()).filter(({ kind }) => kind === "call");
    expect(rows).toHaveLength(7);
    const limits = { concurrency: { key: "a", limit: 1 }, rate: { key: "a", limit: 7, perMs: LEASE_MS } };
    for (const row of rows) {
      expect(row["concurrency_key"]).toBe("a");
      expect(JSON.parse(row["limits"] as string)).toEqual(limits);
    }
    expect(new Set(rows.map(({ lane }) => lane)).size).toBe(1);
    for (let n = 0; n < 7; n++) {
      const only = claimer(db);
      const [entry] = await only.claim();
      expect(await only.take()).toBe("");
      await only.writer.settle({ ...(entry as ClaimedCall), event: "succeed" });
    }
    expect(await claimer(db).take()).toBe("");
    // The keys are gone with the input that they were computed from.
    for (const row of (await world.rows()).filter(({ kind }) => kind === "call"))
      expect([row["payload"], row["limits"], row["concurrency_key"], row["lane"]]).toEqual([
        null,
        null,
        null,
        "sync",
      ]);
  });

  it("[S-40] a call that waits for its limit costs no slot, and is made when a place is free", async () => {
    const held = gate();
    const made: string[] = [];
    const limited = defineCall("sync", {
      schema,
      ...running(1),
      handle: async ({ n }) => {
        if (n === 1) await held.pass();
        made.push(`sync ${n}`);
      },
    });
    const plain = defineCall("plain", { schema, handle: () => void made.push("plain") });
    const amends = await database.amends({ calls: [limited, plain] });
    await database.worker(amends, { concurrency: 2, poll: "1h" });
    const { entryId } = await amends.calls.enqueue(limited, { tenant: "a", n: 1 });
    const db = await database.open();
    const statusOf = async (): Promise<unknown> => {
      const rows = await db.query(sql`select entry_id, status from ${db.dialect.table("outbox")}`);
      return rows.find((row) => row["entry_id"] === entryId)?.["status"];
    };
    await until(async () => (await statusOf()) === "in_flight");
    await amends.calls.enqueue(limited, { tenant: "a", n: 2 });
    await amends.calls.enqueue(plain, { tenant: "a" });
    await until(() => made.length === 1);
    expect(made).toEqual(["plain"]);
    held.open();
    await until(() => made.length === 3);
    expect(made).toEqual(["plain", "sync 1", "sync 2"]);
  });

  it("[S-40] calls without limits are claimed in one statement; with limits, it is a fixed few, however many keys wait", async () => {
    const { database: watched, texts } = overheard(await database.open({ clock: virtualClock() }));
    const plain = sync({}, "plain");
    const calls = await callsOn(database, watched, plain, sync(running(1)));
    await enqueue(calls, plain, "ppp");
    const unlimited = claimer(watched, false, ["plain"]);
    await unlimited.look();
    const sent = async (work: () => Promise<unknown>): Promise<number> => {
      const before = texts.length;
      await work();
      return texts.slice(before).filter((text) => !/^\s*(begin|commit)/i.test(text)).length;
    };
    expect(await sent(() => unlimited.claim(2))).toBe(1);
    expect(await sent(() => unlimited.claim())).toBe(1);
    expect(await sent(() => unlimited.claim())).toBe(1);
    await enqueue(calls, sync(running(1)), "abc");
    const few = await sent(() => claimer(watched).claim());
    await enqueue(calls, sync(running(1)), "abcdefghijklmnopqrstuvwxyz");
    expect(await sent(() => claimer(watched).claim())).toBe(few);
    expect(few).toBeLessThanOrEqual(3);
  });

  it("[S-40] a process whose definitions have no limits keeps those that other definitions have set", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await enqueue(await callsOn(database, db, sync(running(1))), sync(running(1)), "aab");
    const later = claimer(db, false);
    expect(await later.take()).toBe("ab");
    expect(await later.take()).toBe("");
    const looking = claimer(db, false);
    expect(await looking.look()).toBe(0);
    clock.jump(LEASE_MS);
    expect(await looking.take()).toHaveLength(2);
    // Its own number counts those of the other one.
    const call = sync(running(3));
    await enqueue(await callsOn(database, db, call), call, "aaa");
    expect(await looking.take()).toBe("aa");
  });

  it("[S-40][K-24] the look says when a call with limits is due", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const near = sync({}, "sync-now");
    const call = sync(running(1));
    const calls = await callsOn(database, db, call, near);
    expect(await claimer(db).look()).toBeUndefined();
    await calls.enqueue(call, { tenant: "a" }, { delay: 5 * SECOND_MS });
    await calls.enqueue(near, { tenant: "a" }, { delay: SECOND_MS });
    const untilMs = await claimer(db).look();
    expect(untilMs).toBeGreaterThan(4.9 * SECOND_MS);
    expect(untilMs).toBeLessThanOrEqual(5 * SECOND_MS);
    clock.jump(5 * SECOND_MS);
    expect(await claimer(db).look()).toBeLessThanOrEqual(0);
  });

  it("[S-40] what limits hold back does not count as work that waits for a worker", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const [call, near] = [sync(running(1)), sync({}, "sync-now")];
    const calls = await callsOn(database, db, call, near);
    const age = async (): Promise<number> => (await readFigures(db, { age: dueEntryAge(db.dialect) })).age;
    await enqueue(calls, call, "aab");
    clock.jump(LEASE_MS);
    expect(await age()).toBe(0);
    await enqueue(calls, near, "a");
    clock.jump(SECOND_MS);
    expect(await age()).toBe(SECOND_MS);
  });

  it("[S-40] a key that cannot be one is refused when the call is enqueued, and nothing is written", async () => {
    const world = await shop(database);
    for (const bad of ["", "x".repeat(256), "a\0b", "\ud800", 7, undefined]) {
      const call = sync({ concurrency: { key: () => bad as string, limit: 1 } });
      const calls = await callsOn(database, world.db, call);
      const refused = await calls.enqueue(call, { tenant: "a" }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "BAD_INPUT" });
      expect((refused as AmendsError).message).toContain("Call sync: the key of `concurrency`");
    }
    expect(await world.rows()).toEqual([]);
  });
});

onDatabase("sqlite", (database) => {
  it("[S-40] a call that a synchronous transaction enqueues has its limits", async () => {
    const db = await database.open();
    const place = await database.place();
    const call = sync(running(1));
    const amends = new Amends({ database: sqlite(place), calls: [call] });
    const handle = openSqlite(place);
    onTestFinished(async () => {
      await amends.close();
      handle.close();
    });
    handle.exec("begin immediate");
    for (const tenant of ["a", "a", "b"]) amends.sync.calls.enqueue(call, { tenant }, { tx: handle });
    handle.exec("commit");
    expect(await claimer(db).take()).toBe("ab");
  });
});

onDatabase("postgres", (database) => {
  it("[S-40] claims of calls at the same time never exceed a limit, and none takes a place without the turn", async () => {
    const [db, ...others] = await Promise.all(Array.from({ length: 5 }, () => database.open()));
    const call = sync(running(3));
    await enqueue(await callsOn(database, db as Database, call), call, "a".repeat(20));
    await (db as Database).transaction(async (session) => {
      expect(await session.query(takeTurn(session.dialect, "calls"))).toHaveLength(1);
      expect(await claimer(others[0] as Database).take()).toBe("");
    });
    const workers = others.map((one) => claimer(one));
    let taken = "";
    for (let round = 0; round < 10; round++)
      taken += (await Promise.all(workers.flatMap((one) => [one.take(2), one.take(2)]))).join("");
    expect(taken).toBe("aaa");
  });
});

onEachDatabase((database) => {
  it("[S-40][W-14] a key with 50,000 waiting calls costs a claim no more than its lane: every statement is on its index", async () => {
    const db = await database.open();
    const { dialect } = db;
    const limits = { concurrency: { key: "a", limit: 1 }, rate: { key: "a", limit: 1, perMs: SECOND_MS } };
    await db.query(sql`insert into ${dialect.table("outbox")} (entry_id, kind, name, lane, payload, limits, concurrency_key, enqueued_at)
      select r.id, 'call', 'sync', 'sync!' || (r.n % 5), '{}', ${JSON.stringify(limits)}, 'a', ${dialect.now()}
      from ${numbered(dialect, 50_000)}`);
    await db.query(raw("analyze"));
    const explainer =
      database.name === "sqlite"
        ? explainSqlite(db)
        : await explainPostgres(await database.place(), "generic");
    const survey = surveyLanes(dialect, LIMITED_CALLS, "", 100);
    const scanned = await explainer.scans(survey);
    expect(scanned.filter((scan) => !/ (walk|looked)$/.test(scan))).toEqual([]);
    expect((await explainer.indexes(survey)).toSorted()).toEqual(["outbox_due", "outbox_running"]);
    const look = sql`select ${untilCallDue(dialect, ["sync", "plain"])} as until`;
    const looked = await explainer.scans(look);
    expect(looked.filter((scan) => !/ (lanes|lane_kinds|firsts)$/.test(scan))).toEqual([]);
    expect(await explainer.indexes(look)).toEqual(["outbox_due"]);
    const grants = [{ lane: "sync!1", free: 2 }];
    const options = { kind: "call", names: ["sync", "plain"], limit: 10, leaseMs: LEASE_MS, grants } as const;
    expect(await explainer.scans(claimEntries(dialect, CLAIMED_CALL, options))).toEqual([]);
    expect(await explainer.scans(countStarts(dialect, "calls", [{ name: "sync", key: "a" }]))).toEqual([]);
    const call = { entryId: "00000000-0000-7000-8000-000000000000", name: "sync", limits } as CallRow;
    expect(await explainer.scans(returnToLanes(dialect, [call]))).toEqual([]);
    await explainer.end();
    // Another key of the same call, and another call, are claimed at once.
    const plain = sync({}, "plain");
    const calls = await callsOn(database, db, sync(running(1)), plain);
    await enqueue(calls, sync(running(1)), "z");
    await enqueue(calls, plain, "p");
    expect((await claimer(db).claim()).map(({ name, payload }) => `${name} ${payload}`).toSorted()).toEqual([
      'plain {"tenant":"p"}',
      'sync {"tenant":"z"}',
      "sync {}",
    ]);
  });
});

it("[S-40] limits of a call that cannot be meant are refused where it is defined", () => {
  const bad: object[] = [
    { concurrency: { key } },
    { concurrency: { key, limit: 0 } },
    { concurrency: { key: "a", limit: 1 } },
    { rate: { key, limit: 1 } },
    { rate: { key, limit: 1, per: "0s" } },
    { rate: { key, limit: 1, per: "1s", burst: 2 } },
  ];
  for (const options of bad) expect(() => sync(options)).toThrow(AmendsError);
});
