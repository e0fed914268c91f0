/** Limits by key as claims see them: places are counted from leases, starts by the clock of the database. */
import { expect, it } from "vitest";
import type { Limits } from "../../src/core/start/limits.ts";
import { journalOn, KIND, LEASE_MS, newSaga } from "./support/sagas.ts";
import type { DatabaseJournal } from "../../src/sagas/journal/database-journal.ts";
import { LIMITED_SAGAS } from "../../src/sagas/journal/queries.ts";
import { untilByKind } from "../../src/sagas/kinds/look-queries.ts";
import { countStarts, surveyLanes, takeTurn } from "../../src/storage/limits/queries.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite } from "../conformance/plans.ts";
import { onDatabase, onEachDatabase, virtualClock } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";

const SECOND_MS = 1_000;

const running = (key: string, limit: number): Limits => ({ concurrency: { key, limit } });
const rated = (key: string, limit: number, perMs: number): Limits => ({ rate: { key, limit, perMs } });

async function start(journal: DatabaseJournal, ids: readonly string[], limits?: Limits): Promise<void> {
  for (const id of ids) await journal.create({ ...newSaga(id), limits });
}

async function claim(journal: DatabaseJournal, slots = 100, owner = "me"): Promise<readonly string[]> {
  const records = await journal.claim([KIND], slots, owner, LEASE_MS);
  return records.map(({ id }) => id).toSorted();
}

onEachDatabase((database) => {
  it("[S-40] a claim takes no more sagas of a key than its limit leaves, the longest due first", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    for (const id of ["a-1", "a-2", "a-3", "b-1", "b-2", "plain"]) {
      await start(journal, [id], id === "plain" ? undefined : running(id.slice(0, 1), 2));
      clock.jump(1);
    }
    expect(await claim(journal)).toEqual(["a-1", "a-2", "b-1", "b-2", "plain"]);
    expect(await claim(journal)).toEqual([]);
  });

  it("[S-40] the places of a worker that is gone return when its leases end", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    await start(journal, ["a-1", "a-2", "a-3"], running("a", 2));
    expect(await claim(journal, 100, "dead")).toEqual(["a-1", "a-2"]);
    clock.jump(LEASE_MS - 1);
    expect(await claim(journal)).toEqual([]);
    clock.jump(1);
    // A saga that never lost a worker comes first, and there are two places again.
    expect(await claim(journal)).toEqual(["a-1", "a-3"]);
    expect(await claim(journal)).toEqual([]);
  });

  it("[S-40] a lease that is renewed keeps its place", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    await start(journal, ["a-1", "a-2"], running("a", 1));
    const [held] = await journal.claim([KIND], 100, "me", LEASE_MS);
    clock.jump(LEASE_MS / 2);
    await journal.renew([held as NonNullable<typeof held>], LEASE_MS);
    clock.jump(LEASE_MS / 2);
    expect(await claim(journal)).toEqual([]);
  });

  it("[S-40] a lease that has ended is not renewed: another saga may have its place", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    await start(journal, ["a-1", "a-2"], running("a", 1));
    await start(journal, ["plain"]);
    const slept = await journal.claim([KIND], 100, "slept", LEASE_MS);
    expect(slept.map(({ id }) => id).toSorted()).toEqual(["a-1", "plain"]);
    clock.jump(LEASE_MS);
    // Sagas that never lost a worker come first.
    expect(await claim(journal, 1)).toEqual(["a-2"]);
    expect([...(await journal.renew(slept, LEASE_MS)).keys()]).toEqual(["plain"]);
    expect(await claim(journal)).toEqual([]);
  });

  it("[S-40] a rate holds in every period, however its starts are spread", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    await start(
      journal,
      Array.from({ length: 9 }, (_, index) => `a-${index}`),
      rated("a", 3, 10 * SECOND_MS),
    );
    const begun: number[] = [];
    for (let tick = 0; tick < 40; tick++) {
      const slots = tick === 0 ? 1 : 100;
      for (const _ of await claim(journal, slots)) begun.push(tick);
      clock.jump(SECOND_MS);
    }
    // One, then the two others; each place returns ten seconds after its start.
    expect(begun).toEqual([0, 1, 1, 10, 11, 11, 20, 21, 21]);
  });

  it("[S-40] a rate counts first claims only: a saga that has begun goes on", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    await start(journal, ["a-1", "a-2"], rated("a", 1, 10 * LEASE_MS));
    expect(await claim(journal)).toEqual(["a-1"]);
    clock.jump(LEASE_MS);
    expect(await claim(journal)).toEqual(["a-1"]);
    clock.jump(9 * LEASE_MS);
    expect(await claim(journal)).toEqual(["a-1", "a-2"]);
  });

  it("[S-40] sagas with both limits, with other keys and with other numbers respect each of them", async () => {
    const journal = journalOn(await database.open({ clock: virtualClock() }));
    const both = (tenant: string): Limits => ({ ...running(tenant, 2), ...rated("all", 3, LEASE_MS) });
    await start(journal, ["a-1", "a-2", "a-3"], both("a"));
    await start(journal, ["b-1", "b-2", "b-3"], both("b"));
    const first = await claim(journal);
    expect(first).toHaveLength(3);
    expect(first.filter((id) => id.startsWith("a")).length).toBeLessThanOrEqual(2);
    expect(first.filter((id) => id.startsWith("b")).length).toBeLessThanOrEqual(2);
    // A later definition says another number: it counts the sagas of the earlier one.
    await start(journal, ["c-1", "c-2"], running("c", 1));
    expect(await claim(journal)).toEqual(["c-1"]);
    await start(journal, ["c-3", "c-4"], running("c", 2));
    expect(await claim(journal)).toEqual(["c-3"]);
  });

  it("[S-40] keys and sagas without limits share the slots, and take turns", async () => {
    const journal = journalOn(await database.open({ clock: virtualClock() }));
    await start(
      journal,
      Array.from({ length: 30 }, (_, index) => `a-${index}`),
      running("a", 100),
    );
    await start(journal, ["b-1"], running("b", 100));
    await start(
      journal,
      Array.from({ length: 30 }, (_, index) => `p-${index}`),
    );
    const kinds = (ids: readonly string[]): string =>
      ids
        .map((id) => id.slice(0, 1))
        .toSorted()
        .join("");
    expect(kinds(await claim(journal, 6))).toBe("aabppp");
    const turns = [];
    for (let turn = 0; turn < 3; turn++) turns.push(...(await claim(journal, 1)));
    expect(turns).toHaveLength(3);
  });

  it("[S-40] what a reference started keeps its limits when its steps become known", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    for (const id of ["a-1", "a-2"]) {
      await journal.create({ ...newSaga(id), plan: [], limits: running("a", 1) });
      clock.jump(1);
    }
    const [record] = await journal.claim([KIND], 100, "dead", LEASE_MS);
    expect(record?.id).toBe("a-1");
    expect(record?.plan).toEqual(KIND.plan);
    clock.jump(LEASE_MS);
    expect(await claim(journal)).toHaveLength(1);
    expect(await claim(journal)).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it("[S-40] a claim that does not get the turn takes no place, and takes work without limits", async () => {
    const journal = journalOn(await database.open());
    await start(journal, ["a-1"], running("a", 1));
    await start(journal, ["plain"]);
    const other = await database.open();
    await other.transaction(async (session) => {
      expect(await session.query(takeTurn(session.dialect, "sagas"))).toHaveLength(1);
      expect(await claim(journal)).toEqual(["plain"]);
      expect(await claim(journal)).toEqual([]);
    });
    expect(await claim(journal)).toEqual(["a-1"]);
  });

  it("[S-40] many claims at the same time, on many connections, never exceed a limit", async () => {
    const journals = await Promise.all(
      Array.from({ length: 6 }, async () => journalOn(await database.open())),
    );
    const [first] = journals as [DatabaseJournal];
    const ids = Array.from({ length: 60 }, (_, index) => `a-${index}`);
    await Promise.all(ids.map((id) => first.create({ ...newSaga(id), limits: running("a", 3) })));
    const taken: string[] = [];
    for (let round = 0; round < 10; round++) {
      const all = await Promise.all(journals.flatMap((journal) => [claim(journal, 2), claim(journal, 2)]));
      taken.push(...all.flat());
    }
    expect(taken).toHaveLength(3);
    expect(new Set(taken).size).toBe(3);
  });
});

/** Rows that no saga has written: they are there to be counted on. */
onEachDatabase((database) => {
  it("[S-40][K-24] the look reads a bounded number of keys of a kind, and every kind", async () => {
    const db = await database.open({ clock: virtualClock() });
    const { dialect } = db;
    const insert = (name: string, keys: number, waitMs: number): Promise<unknown> =>
      db.query(sql`insert into ${dialect.table("saga_executions")} (id, name, kind, status, context, plan, next_attempt_at, created_at, updated_at)
        select ${`${name}-`} || r.n, ${name}, ${`${name}@1#!`} || r.n, 'PENDING', '{"input":{}}', '', ${dialect.plusMs(dialect.now(), waitMs)},
          ${dialect.now()}, ${dialect.now()} from ${numbered(dialect, keys)}`);
    await insert("few", 50, 5 * SECOND_MS);
    await insert("many", 150, 60 * SECOND_MS);
    await insert("some", 50, 7 * SECOND_MS);
    const [row] = await db.query(sql`select ${untilByKind(dialect)} as until`);
    const [until] = JSON.parse(row?.["until"] as string) as [Record<string, number>];
    // Of many keys it is not known here: the claim looks itself.
    expect(Object.fromEntries(Object.entries(until).map(([lane, ms]) => [lane, Math.round(ms)]))).toEqual({
      "few@1#!": 5 * SECOND_MS,
      "many@1#!": 0,
      "some@1#!": 7 * SECOND_MS,
    });
  });

  it("[S-40][W-14] a key with 50,000 waiting sagas costs a claim no more than its lane: every statement is on its index", async () => {
    const db = await database.open();
    const { dialect } = db;
    const table = dialect.table("saga_executions");
    const limits = JSON.stringify({ ...running("a", 1), ...rated("a", 1, 1_000) });
    await db.query(sql`insert into ${table} (id, name, kind, status, context, plan, limits, concurrency_key, created_at, updated_at)
      select 'saga-' || r.n, 'chain', 'chain@1#!' || (r.n % 5), 'PENDING', '{"input":{}}', 'one', ${limits}, 'a', ${dialect.now()}, ${dialect.now()}
      from ${numbered(dialect, 50_000)}`);
    await db.query(sql`insert into ${dialect.table("limit_starts")} (queue, name, rate_key, until_at, starts)
      select 'sagas', 'chain', 'key-' || r.n, ${dialect.plusMs(dialect.now(), raw("r.n"))}, 1 from ${numbered(dialect, 20_000)}`);
    await db.query(raw("analyze"));
    const explainer =
      database.name === "sqlite"
        ? explainSqlite(db)
        : await explainPostgres(await database.place(), "generic");
    const survey = surveyLanes(dialect, LIMITED_SAGAS, "", 100);
    const scanned = await explainer.scans(survey);
    expect(scanned.filter((scan) => !/ (walk|looked)$/.test(scan))).toEqual([]);
    expect((await explainer.indexes(survey)).toSorted()).toEqual([
      "saga_executions_due",
      "saga_executions_running",
    ]);
    expect(await explainer.scans(countStarts(dialect, "sagas", [{ name: "chain", key: "key-5" }]))).toEqual(
      [],
    );
    await explainer.end();
  });
});
