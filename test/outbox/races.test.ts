/** Races with real concurrency: several outboxes, each with connections of its own, on one PostgreSQL. */
import { ResolverError, type OutboxEntry } from "amends/erasure";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase, virtualClock } from "../support/databases.ts";
import { RACE_MS, rounds } from "../support/rounds.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop, type Shop } from "./support/shop.ts";
import { eraser, rectifier } from "./support/systems.ts";

const LEASE_MS = 300_000;

/** How often a type of event is on record, by subject. */
async function countByType({ db }: Shop, type: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query(
    sql`select subject_id, count(*) as n from ${db.dialect.table("audit_events")} where type = ${type} group by subject_id`,
  );
  return new Map(rows.map((row) => [row["subject_id"] as string, Number(row["n"])]));
}

onDatabase("postgres", (database) => {
  it(
    "[O-13] of two runners that finish the last two entries of a subject exactly one sees it complete",
    async () => {
      const first = await shop(database);
      const second = await shop(database);
      const count = rounds(200, 10_000);
      const subjects = Array.from({ length: count }, (_, index) => `u-${index}`);
      await first.enqueue(...subjects.flatMap((subject) => [erase(subject, "a"), erase(subject, "b")]));
      const claimed = await first.outbox.claimBatch(2 * count);
      const bySubject = new Map(subjects.map((subject) => [subject, [] as OutboxEntry[]]));
      for (const entry of claimed) bySubject.get(entry.subjectId)?.push(entry);
      const completions: string[] = [];
      const book = (world: Shop, entry: OutboxEntry): Promise<boolean> =>
        world.outbox.markSucceeded(entry, { onSubjectComplete: () => completions.push(entry.subjectId) });
      for (const [, pair] of bySubject) {
        const [a, b] = pair as [OutboxEntry, OutboxEntry];
        expect(await Promise.all([book(first, a), book(second, b)])).toEqual([true, true]);
      }
      expect(completions.toSorted()).toEqual(subjects.toSorted());
    },
    RACE_MS,
  );

  it(
    "[O-13] the same with runners whose outcomes travel in batches: no subject is missed, none is told twice",
    async () => {
      const worlds = await Promise.all([shop(database), shop(database), shop(database)]);
      const [world] = worlds;
      const count = rounds(200, 7_000);
      const subjects = Array.from({ length: count }, (_, index) => `u-${index}`);
      const systems = ["a", "b", "c"];
      await world.enqueue(...subjects.flatMap((subject) => systems.map((name) => erase(subject, name))));
      const resolvers = systems.map((name) => eraser(name));
      await Promise.all(
        worlds.map(async (one) => {
          const runner = runnerOn(one, resolvers, { batchSize: 17 });
          for (let empty = 0; empty < 2;) empty = (await runner.runOnce()) === 0 ? empty + 1 : 0;
        }),
      );
      expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 3 * count });
      const completed = await countByType(world, "ERASURE_COMPLETED");
      expect(completed.size).toBe(count);
      expect(new Set(completed.values())).toEqual(new Set([1]));
      expect(resolvers.flatMap(({ calls }) => calls)).toHaveLength(3 * count);
    },
    RACE_MS,
  );

  it(
    "[O-16] requeues against runners: nothing is stranded, and every requeue has its event",
    async () => {
      const one = await shop(database);
      const two = await shop(database);
      const subjects = Array.from({ length: rounds(60, 600) }, (_, index) => `u-${index}`);
      const ids = await one.enqueue(...subjects.map((subject) => erase(subject)));
      const seen = new Map<string, number>();
      const flaky = eraser("stripe", (_ref, { key }) => {
        const count = (seen.get(key) ?? 0) + 1;
        seen.set(key, count);
        return count < 6 ? Promise.reject(new ResolverError("no")) : {};
      });
      let flips = 0;
      const isDone = async (): Promise<boolean> => (await one.outbox.statusCounts()).succeeded === ids.length;
      const drive = async (world: Shop): Promise<void> => {
        const runner = runnerOn(world, [flaky], { batchSize: 7 });
        while (!(await isDone())) await runner.runOnce();
      };
      const operate = async (world: Shop, order: readonly string[]): Promise<void> => {
        while (!(await isDone())) {
          const { length } = await world.outbox.requeue(order);
          flips += length;
        }
      };
      await Promise.all([drive(one), drive(two), operate(one, ids), operate(two, ids.toReversed())]);
      const requeued = await countByType(one, "ERASURE_REQUEUED");
      expect([...requeued.values()].reduce((sum, count) => sum + count, 0)).toBe(flips);
      expect(flips).toBe(5 * ids.length);
      expect(new Set((await countByType(one, "ERASURE_COMPLETED")).values())).toEqual(new Set([1]));
      expect(new Set(seen.values())).toEqual(new Set([6]));
    },
    RACE_MS,
  );

  it(
    "[K-06] a late runner after its lease races the one that took over: the table has one outcome, always the holder's",
    async () => {
      const clock = virtualClock();
      const late = await shop(database, { clock });
      const holder = await shop(database, { clock });
      const count = rounds(100, 4_000);
      const subjects = Array.from({ length: count }, (_, index) => `u-${index}`);
      await late.enqueue(...subjects.map((subject) => erase(subject)));
      const stale = await late.outbox.claimBatch(count);
      clock.jump(LEASE_MS);
      const held = new Map((await holder.outbox.claimBatch(count)).map((entry) => [entry.entryId, entry]));
      for (const entry of stale) {
        const current = held.get(entry.entryId) as OutboxEntry;
        expect(
          await Promise.all([
            late.outbox.markAbandoned(entry, { error: "Late" }),
            holder.outbox.markSucceeded(current),
            late.outbox.markFailed(entry, { error: "Late", waitMs: 0 }),
          ]),
        ).toEqual([false, true, false]);
      }
      expect(await holder.outbox.statusCounts()).toMatchObject({
        succeeded: count,
        abandoned: 0,
        failed: 0,
      });
    },
    RACE_MS,
  );

  it(
    "[O-14] an erasure against the runner of a rectification: never both, and no payload is left",
    async () => {
      const one = await shop(database);
      const two = await shop(database);
      const crm = rectifier("crm");
      const runner = runnerOn(two, [crm]);
      const count = rounds(75, 1_500);
      for (let round = 0; round < count; round++) {
        await one.enqueue(rectify(`u-${round}`, "canary", "crm"));
        await Promise.all([runner.runOnce(), one.enqueue(erase(`u-${round}`, "other"))]);
      }
      const done = await countByType(one, "RECTIFICATION_COMPLETED");
      const cancelled = await countByType(one, "RECTIFICATION_STEP_SUPERSEDED");
      for (let round = 0; round < count; round++)
        expect((done.get(`u-${round}`) ?? 0) + (cancelled.get(`u-${round}`) ?? 0)).toBe(1);
      expect(JSON.stringify(await one.rows())).not.toContain("canary");
    },
    RACE_MS,
  );

  it(
    "[O-14] rectifications of one thing that are issued at once: one is left, and every other is on record",
    async () => {
      const worlds = await Promise.all([shop(database), shop(database), shop(database)]);
      const [one] = worlds;
      const count = rounds(75, 1_500);
      for (let round = 0; round < count; round++) {
        if (round % 2 === 0) await one.enqueue(rectify(`u-${round}`, "first"));
        await Promise.all(
          worlds.map((world, index) => world.enqueue(rectify(`u-${round}`, `again-${index}`))),
        );
      }
      const rows = await one.rows();
      const open = rows.filter((row) => row["status"] === "pending");
      expect(new Set(open.map((row) => row["subject_id"])).size).toBe(count);
      expect(open).toHaveLength(count);
      expect(open.some((row) => String(row["payload"]).includes("first"))).toBe(false);
      const superseded = await countByType(one, "RECTIFICATION_STEP_SUPERSEDED");
      for (let round = 0; round < count; round++)
        expect(superseded.get(`u-${round}`)).toBe(round % 2 === 0 ? 3 : 2);
    },
    RACE_MS,
  );
});
