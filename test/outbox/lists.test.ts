import type { PageOptions } from "amends/calls";
import type { EntryPage } from "amends/erasure";
import { expect, it } from "vitest";
import { outboxMachine } from "../../src/core/outbox/machine.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { erase, shop } from "./support/shop.ts";

async function walk(
  list: (options: PageOptions) => Promise<EntryPage>,
  limit: number,
): Promise<readonly string[]> {
  const found: string[] = [];
  let after: string | undefined;
  do {
    const page = await list({ limit, ...(after !== undefined && { after }) });
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    found.push(...page.entries.map(({ subjectId }) => subjectId));
    after = page.next;
  } while (after !== undefined);
  return found;
}

onEachDatabase((database) => {
  it("[O-17] abandoned entries are listed oldest first, page by page, without a gap or a repetition", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const names = Array.from({ length: 11 }, (_, index) => `u-${String(index).padStart(2, "0")}`);
    for (const [index, name] of names.entries()) {
      await world.enqueue(erase(name));
      if (index % 3 === 0) await clock.advance(1);
    }
    for (const entry of (await world.outbox.claimBatch()).toReversed())
      await world.outbox.markAbandoned(entry, { error: "No" });
    for (const limit of [1, 2, 5, 11, 100])
      expect(await walk((options) => world.outbox.listAbandoned(options), limit)).toEqual(names);
    const { entries, next } = await world.outbox.listAbandoned();
    expect(entries[0]).toMatchObject({ subjectId: "u-00", status: "abandoned", lastError: "No" });
    expect(next).toBeUndefined();
  });

  it("[O-17] scheduled entries are listed by the nearest horizon", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    await world.enqueue(...["c", "a", "b"].map((name) => erase(name)));
    const days = { a: 1, b: 2, c: 3 } as Record<string, number>;
    for (const entry of await world.outbox.claimBatch())
      await world.outbox.markScheduled(
        entry,
        new Date(clock.virtualNowMs() + 86_400_000 * (days[entry.subjectId] ?? 0)),
      );
    for (const limit of [1, 2, 100])
      expect(await walk((options) => world.outbox.listScheduled(options), limit)).toEqual(["a", "b", "c"]);
  });

  it("[O-17] every status is counted, those that nobody has as zero", async () => {
    const world = await shop(database);
    const zeros = Object.fromEntries(outboxMachine.states.map((status) => [status, 0]));
    expect(await world.outbox.statusCounts()).toEqual(zeros);
    await world.enqueue(erase("a"), erase("b"), erase("c"));
    const [one] = await world.outbox.claimBatch(1);
    await world.outbox.markSucceeded(one as never);
    expect(await world.outbox.statusCounts()).toEqual({ ...zeros, pending: 2, succeeded: 1 });
  });

  it("[O-17] a source of the user's can replace the counting", async () => {
    const counts = Object.fromEntries(outboxMachine.states.map((status, index) => [status, index])) as never;
    const world = await shop(database, { statusCountsSource: { statusCounts: async () => counts } });
    expect(await world.outbox.statusCounts()).toBe(counts);
  });

  it("[K-20] a page that cannot be is refused", async () => {
    const { outbox } = await shop(database);
    for (const options of [
      { limit: 0 },
      { limit: 1_001 },
      { after: "x" },
      { after: '[1,"x"]' },
      { page: 1 } as never,
    ])
      await expect(outbox.listAbandoned(options)).rejects.toMatchObject({ code: "BAD_OPTION" });
  });
});
