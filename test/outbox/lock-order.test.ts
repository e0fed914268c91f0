/** Everything that locks several entries locks them in the order of their ids, so that two of them wait and never deadlock. */
import type { OutboxEntry } from "amends/erasure";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase } from "../support/databases.ts";
import { erase, shop, type Shop } from "./support/shop.ts";

const [FIRST, SECOND] = ["018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"];

const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

/** Holds the first entry until `work` waits for it, and says whether the second one was free at that moment. */
async function secondIsFree({ db }: Shop, work: () => Promise<unknown>): Promise<boolean> {
  const outbox = db.dialect.table("outbox");
  const held = await db.transaction(async (session) => {
    await session.query(sql`select 1 from ${outbox} where entry_id = ${FIRST} for update`);
    const done = work();
    await expect.poll(() => session.query(waiting)).toHaveLength(1);
    const free = await session.query(
      sql`select 1 from ${outbox} where entry_id = ${SECOND} for update skip locked`,
    );
    return { done, isFree: free.length === 1 };
  });
  await held.done;
  return held.isFree;
}

onDatabase("postgres", (database) => {
  async function claimed(): Promise<{ world: Shop; holder: Shop; entries: readonly OutboxEntry[] }> {
    const world = await shop(database);
    await world.enqueue({ ...erase("u-1", "b"), entryId: SECOND }, { ...erase("u-1", "a"), entryId: FIRST });
    const entries = (await world.outbox.claimBatch()).toSorted((a, b) => (a.entryId < b.entryId ? -1 : 1));
    return { world, holder: await shop(database), entries };
  }

  it("[O-16] a requeue locks its entries in the order of their ids, whatever the order in the call", async () => {
    const { world, holder, entries } = await claimed();
    for (const entry of entries) await world.outbox.markAbandoned(entry, { error: "No" });
    expect(await secondIsFree(holder, () => world.outbox.requeue([SECOND, FIRST]))).toBe(true);
    expect(await world.outbox.statusCounts()).toMatchObject({ pending: 2 });
  });

  it("[O-16] a requeue that waits for another one's leaves no event about an entry that it does not requeue", async () => {
    const { world, holder, entries } = await claimed();
    for (const entry of entries) await world.outbox.markAbandoned(entry, { error: "No" });
    const { db } = holder;
    const requeued = await db.transaction(async (session) => {
      await session.query(
        sql`update ${db.dialect.table("outbox")} set status = 'pending' where entry_id = ${FIRST}`,
      );
      const both = world.outbox.requeue([FIRST, SECOND]);
      await expect.poll(() => session.query(waiting)).toHaveLength(1);
      return { both };
    });
    expect((await requeued.both).map(({ entryId }) => entryId)).toEqual([SECOND]);
    expect(await world.trail()).toEqual(["ERASURE_REQUEUED"]);
  });

  it("[O-13] a success locks all entries that its request waits for in the order of their ids, its own too", async () => {
    const { world, holder, entries } = await claimed();
    expect(await secondIsFree(holder, () => world.outbox.markSucceeded(entries[1] as OutboxEntry))).toBe(
      true,
    );
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 1, in_flight: 1 });
  });
});
