import { nthClaim } from "../support/claims.ts";
import type { OutboxEntry } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop, type Shop } from "./support/shop.ts";
import { eraser } from "./support/systems.ts";

const LEASE_MS = 300_000;

type Mark = (world: Shop, entry: OutboxEntry) => Promise<boolean>;

const MARKS: readonly (readonly [string, Mark])[] = [
  ["succeeded", ({ outbox }, entry) => outbox.markSucceeded(entry)],
  ["failed", ({ outbox }, entry) => outbox.markFailed(entry, { error: "Busy", waitMs: 0 })],
  ["scheduled", ({ outbox }, entry) => outbox.markScheduled(entry, new Date(0))],
  ["abandoned", ({ outbox }, entry) => outbox.markAbandoned(entry, { error: "No" })],
];

onEachDatabase((database) => {
  it.each(MARKS.flatMap(([late, mark]) => MARKS.map(([now, other]) => [late, now, mark, other] as const)))(
    "[K-06] a stale runner cannot write %s over a newer claim that is %s",
    async (_late, status, late, now) => {
      const clock = virtualClock();
      const world = await shop(database, { clock });
      const [entryId] = await world.enqueue(erase("u-1"));
      const [stale] = (await world.outbox.claimBatch()) as [OutboxEntry];
      await clock.advance(LEASE_MS);
      const [held] = (await world.outbox.claimBatch()) as [OutboxEntry];
      expect(await late(world, stale)).toBe(false);
      expect(await world.row(entryId as string)).toMatchObject({
        status: "in_flight",
        token: nthClaim(2),
        last_error: null,
      });
      expect(await now(world, held)).toBe(true);
      const before = await world.row(entryId as string);
      expect(before["status"]).toBe(status);
      expect(await late(world, stale)).toBe(false);
      expect(await world.row(entryId as string)).toEqual(before);
    },
  );

  it("[K-06] a runner whose settle is refused, because its claim was taken meanwhile, counts it as lost", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    await world.enqueue(erase("u-1"));
    // No renewal notices: the clock has jumped while the process was asleep.
    const stripe = eraser("stripe", async () => {
      clock.jump(LEASE_MS);
      expect(await world.outbox.claimBatch()).toHaveLength(1);
      return {};
    });
    const runner = runnerOn(world, [stripe]);
    await runner.runOnce();
    expect(runner.lost).toBe(1);
    expect(await world.trail("u-1")).toEqual([]);
  });

  it("[K-06] a claim that was settled cannot be settled another way", async () => {
    const world = await shop(database);
    for (const [status, mark] of MARKS) {
      await world.enqueue(erase(status));
      const [entry] = (await world.outbox.claimBatch(1)) as [OutboxEntry];
      expect(await mark(world, entry)).toBe(true);
      const before = await world.row(entry.entryId);
      for (const [, again] of MARKS.filter(([other]) => other !== status))
        expect(await again(world, entry)).toBe(false);
      expect(await world.row(entry.entryId)).toEqual(before);
    }
  });

  it("[O-07] [O-19] an end clears gate, error and payload; a failure keeps the payload", async () => {
    const world = await shop(database);
    const [id] = await world.enqueue(rectify("u-1"));
    const [first] = (await world.outbox.claimBatch()) as [OutboxEntry];
    await world.outbox.markFailed(first, { error: "Busy", waitMs: 0 });
    expect((await world.row(id as string))["payload"]).not.toBeNull();
    const [second] = (await world.outbox.claimBatch()) as [OutboxEntry];
    expect(second).toMatchObject({ lastError: "Busy", corrections: first.corrections });
    await world.outbox.markSucceeded(second);
    expect(await world.row(id as string)).toMatchObject({ payload: null, gate_ms: null, last_error: null });
  });

  it("[O-09] an instant or a wait can be given for the next try", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    await world.enqueue(erase("wait"), erase("instant"));
    const [one, two] = (await world.outbox.claimBatch()) as [OutboxEntry, OutboxEntry];
    await world.outbox.markFailed(one, { error: "Busy", waitMs: 1_500 });
    await world.outbox.markFailed(two, {
      error: "Busy",
      nextAttemptAt: new Date(clock.virtualNowMs() + 2_500),
    });
    expect((await world.row(one.entryId))["gate_ms"]).toBe(clock.virtualNowMs() + 1_500);
    expect((await world.row(two.entryId))["gate_ms"]).toBe(clock.virtualNowMs() + 2_500);
  });

  it("[K-16] an error that could be a message is refused", async () => {
    const world = await shop(database);
    await world.enqueue(erase("u-1"));
    const [entry] = (await world.outbox.claimBatch()) as [OutboxEntry];
    for (const error of ["", "No such customer: a@example.org", "x".repeat(256)])
      await expect(world.outbox.markAbandoned(entry, { error })).rejects.toMatchObject({
        code: "BAD_OPTION",
      });
    await expect(world.outbox.markScheduled(entry, new Date(Number.NaN))).rejects.toMatchObject({
      code: "BAD_OPTION",
    });
    expect((await world.row(entry.entryId))["status"]).toBe("in_flight");
  });

  it("[O-13] onSubjectComplete runs inside the transaction, once, with the last entry", async () => {
    const world = await shop(database);
    await world.enqueue(erase("u-1", "a"), erase("u-1", "b"), rectify("u-2"));
    const calls: string[] = [];
    const claimed = await world.outbox.claimBatch();
    for (const entry of claimed.filter(({ subjectId }) => subjectId === "u-1"))
      await world.outbox.markSucceeded(entry, { onSubjectComplete: () => calls.push(entry.resolver) });
    expect(calls).toHaveLength(1);
    expect(calls[0]).toBe(claimed.filter(({ subjectId }) => subjectId === "u-1").at(-1)?.resolver);
  });

  it("[O-13] if announcing the completion fails, the success is not recorded, and the entry is tried again after its lease", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const [id] = await world.enqueue(erase("u-1"));
    const [entry] = (await world.outbox.claimBatch()) as [OutboxEntry];
    const onSubjectComplete = (): never => {
      throw new Error("sink is down");
    };
    await expect(world.outbox.markSucceeded(entry, { onSubjectComplete })).rejects.toMatchObject({
      cause: { message: "sink is down" },
    });
    expect(await world.row(id as string)).toMatchObject({ status: "in_flight" });
    await clock.advance(LEASE_MS);
    const [again] = (await world.outbox.claimBatch()) as [OutboxEntry];
    expect(await world.outbox.markSucceeded(again)).toBe(true);
  });

  it("[K-11] a pool of one connection is enough for everything", async () => {
    const world = await shop(database, { connections: 1 });
    await world.enqueue(erase("u-1"), erase("u-2"));
    const [one, two] = (await world.outbox.claimBatch()) as [OutboxEntry, OutboxEntry];
    await world.outbox.markSucceeded(one, { onSubjectComplete: () => undefined });
    await world.outbox.markAbandoned(two, { error: "No" });
    expect(await world.outbox.requeue([two.entryId])).toHaveLength(1);
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 1, pending: 1 });
  });
});
