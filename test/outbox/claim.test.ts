import { nthClaim } from "../support/claims.ts";
import { expect, it } from "vitest";
import { outboxMachine } from "../../src/core/outbox/machine.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { erase, shop, type Shop } from "./support/shop.ts";

const LEASE_MS = 300_000;

async function subjects(world: Shop, limit?: number): Promise<readonly string[]> {
  return (await world.outbox.claimBatch(limit)).map(({ subjectId }) => subjectId).toSorted();
}

onEachDatabase((database) => {
  it("[O-04] [K-04] a claim raises attempts, stamps the row, issues a token and closes the gate for the lease", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const [entryId] = await world.enqueue(erase("u-1"));
    const [entry] = await world.outbox.claimBatch();
    expect(entry).toMatchObject({ entryId, status: "in_flight", attempts: 1, token: nthClaim(1) });
    expect(entry?.nextAttemptAt?.getTime()).toBe(clock.virtualNowMs() + LEASE_MS);
    expect(entry?.lastAttemptAt?.getTime()).toBe(clock.virtualNowMs());
    expect(await world.outbox.claimBatch()).toEqual([]);
  });

  it("[O-04] a lease of another length is kept", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    await world.enqueue(erase("u-1"));
    await world.outbox.claimBatch(50, { lease: "10s" });
    await clock.advance(9_999);
    expect(await world.outbox.claimBatch()).toEqual([]);
    await clock.advance(1);
    expect(await world.outbox.claimBatch()).toMatchObject([{ attempts: 2, token: nthClaim(2) }]);
  });

  it("[O-04] due are pending, failed past its wait, in flight past its lease and scheduled past its horizon", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const { outbox } = world;
    await world.enqueue(
      erase("failed"),
      erase("lapsed"),
      erase("scheduled"),
      erase("done"),
      erase("abandoned"),
    );
    for (const entry of await outbox.claimBatch()) {
      const { subjectId } = entry;
      if (subjectId === "failed") await outbox.markFailed(entry, { error: "Busy", waitMs: LEASE_MS });
      if (subjectId === "scheduled")
        await outbox.markScheduled(entry, new Date(clock.virtualNowMs() + LEASE_MS));
      if (subjectId === "done") await outbox.markSucceeded(entry);
      if (subjectId === "abandoned") await outbox.markAbandoned(entry, { error: "No" });
    }
    await clock.advance(LEASE_MS - 1);
    await world.enqueue(erase("fresh"));
    expect(await subjects(world)).toEqual(["fresh"]);
    await clock.advance(1);
    expect(await subjects(world)).toEqual(["failed", "lapsed", "scheduled"]);
  });

  it("[O-04] a crowd of failing entries cannot starve new ones; those that were tried or parked follow by their gate", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const { outbox } = world;
    await world.enqueue(erase("parked"));
    const [parked] = await outbox.claimBatch(1);
    await outbox.markScheduled(parked as never, new Date(clock.virtualNowMs() + 1_500));
    await world.enqueue(...Array.from({ length: 30 }, (_, index) => erase(`failing-${index}`)));
    for (const entry of await outbox.claimBatch(30)) {
      const waitMs = entry.subjectId === "failing-7" ? 1_000 : 2_000;
      await outbox.markFailed(entry, { error: "Busy", waitMs });
    }
    await clock.advance(10_000);
    for (const subject of ["b", "a", "c"]) await world.enqueue(erase(subject));
    const claimed = await outbox.claimBatch(2);
    expect(claimed.map(({ subjectId }) => subjectId)).toEqual(["b", "a"]);
    const next = (await outbox.claimBatch(2)).map(({ subjectId }) => subjectId);
    expect(next.toSorted()).toEqual(["c", "failing-7"]);
    expect(await subjects(world, 1)).toEqual(["parked"]);
    const rest = (await outbox.claimBatch(4)).map(({ subjectId }) => subjectId);
    expect(rest.filter((subject) => subject.startsWith("failing"))).toHaveLength(4);
  });

  it("[O-04] entries that were never tried are claimed by the time at which they were enqueued, whatever their ids are", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    for (const index of [0, 1, 2, 3]) {
      const entryId = `${9 - index}0000000-0000-4000-8000-000000000000`;
      await world.enqueue({ ...erase(`u-${index}`), entryId });
      await clock.advance(1_000);
    }
    const claimed = (await world.outbox.claimBatch(2)).map(({ subjectId }) => subjectId);
    expect(claimed).toEqual(["u-0", "u-1"]);
    expect(await subjects(world)).toEqual(["u-2", "u-3"]);
  });

  it("[O-04] a batch that holds entries of both classes is returned oldest first", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    await world.enqueue(erase("old"));
    for (const entry of await world.outbox.claimBatch())
      await world.outbox.markFailed(entry, { error: "Busy", waitMs: 1_000 });
    await clock.advance(1_000);
    await world.enqueue(erase("new"));
    const claimed = (await world.outbox.claimBatch()).map(({ subjectId }) => subjectId);
    expect(claimed).toEqual(["old", "new"]);
  });

  it("[O-04] [O-17] a claim takes 50 entries, and a list returns 100, unless told otherwise", async () => {
    const world = await shop(database);
    await world.enqueue(...Array.from({ length: 151 }, (_, index) => erase(`u-${index}`)));
    for (const expected of [50, 50, 50, 1]) {
      const claimed = await world.outbox.claimBatch();
      expect(claimed).toHaveLength(expected);
      for (const entry of claimed) await world.outbox.markAbandoned(entry, { error: "No" });
    }
    const { entries, next } = await world.outbox.listAbandoned();
    expect(entries).toHaveLength(100);
    expect((await world.outbox.listAbandoned({ after: next as string })).entries).toHaveLength(51);
    await world.enqueue(...Array.from({ length: 101 }, (_, index) => erase(`v-${index}`)));
    const later = new Date("2100-01-01");
    for (const entry of await world.outbox.claimBatch(101)) await world.outbox.markScheduled(entry, later);
    expect((await world.outbox.listScheduled()).entries).toHaveLength(100);
  });

  it("[O-20] a claim of one kind never takes another's rows", async () => {
    const world = await shop(database);
    const { dialect } = world.db;
    await world.enqueue(erase("u-1"));
    for (const kind of ["event", "call"]) {
      const id = world.outbox.host.newId();
      await world.db
        .query(sql`insert into ${dialect.table("outbox")} (entry_id, kind, lane, name, enqueued_at)
        values (${id}, ${kind}, ${kind === "call" ? "x" : ""}, 'x', ${dialect.now()})`);
    }
    expect(await subjects(world)).toEqual(["u-1"]);
    expect(await world.outbox.statusCounts()).toMatchObject({ pending: 0, in_flight: 1 });
  });

  it("[K-05] a claim takes exactly its limit, and refuses one that is no number", async () => {
    const world = await shop(database);
    await world.enqueue(...Array.from({ length: 20 }, (_, index) => erase(`u-${index}`)));
    expect(await world.outbox.claimBatch(7)).toHaveLength(7);
    expect(await world.outbox.claimBatch(100)).toHaveLength(13);
    for (const limit of [0, -1, 1.5, Number.NaN])
      await expect(world.outbox.claimBatch(limit)).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(world.outbox.claimBatch(1, { lease: 0 })).rejects.toMatchObject({ code: "BAD_DURATION" });
  });

  it("[K-04] several that claim at once never get one entry twice, and leave none", async () => {
    const worlds = [];
    for (let index = 0; index < 4; index++) worlds.push(await shop(database));
    const [first] = worlds as [Shop];
    await first.enqueue(...Array.from({ length: 400 }, (_, index) => erase(`u-${index}`)));
    const claimed = await Promise.all(
      worlds.map(async (world) => {
        const got: string[] = [];
        for (let empty = 0; empty < 2;) {
          const batch = await world.outbox.claimBatch(7);
          got.push(...batch.map(({ entryId }) => entryId));
          empty = batch.length === 0 ? empty + 1 : 0;
        }
        return got;
      }),
    );
    expect(claimed.flat()).toHaveLength(400);
    expect(new Set(claimed.flat()).size).toBe(400);
  });

  it("[K-13] [O-03] the database refuses every change to an entry that is done with, and unknown words", async () => {
    const world = await shop(database);
    const { dialect } = world.db;
    const table = dialect.table("outbox");
    for (const status of outboxMachine.terminal) {
      const [id] = await world.enqueue(erase(status));
      await world.db.query(sql`update ${table} set status = ${status} where entry_id = ${id}`);
      for (const change of [
        sql`status = 'pending'`,
        sql`attempts = 0`,
        sql`payload = 'x'`,
        sql`status = status`,
      ]) {
        await expect(
          world.db.query(sql`update ${table} set ${change} where entry_id = ${id}`),
        ).rejects.toThrow("never changes");
      }
    }
    const [id] = await world.enqueue(erase("open"));
    for (const change of [
      sql`status = 'done'`,
      sql`kind = 'other'`,
      sql`operation = 'forget'`,
      sql`operation = null`,
    ]) {
      await expect(world.db.query(sql`update ${table} set ${change} where entry_id = ${id}`)).rejects.toThrow(
        /check constraint/i,
      );
    }
  });
});
