import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { forEver } from "../sagas/support/gate.ts";

const LEASE_MS = 60_000;

onEachDatabase((database) => {
  it("[K-07] a saga whose worker dies in every act is ended before another call is made", async () => {
    const signals: unknown[] = [];
    const acts: number[] = [];
    const deadly = saga("deadly", z.object({}), { recoveries: 3 }).step("one", {
      act: ({ attempt }) => {
        acts.push(attempt);
        return forEver();
      },
      compensate: () => undefined,
    });
    // Each worker has a clock of its own that stands still: once it has begun the call it is never heard of again.
    const worker = async (lapses: number) => {
      const clock = virtualClock();
      clock.jump(lapses * LEASE_MS);
      return database.amends({ sagas: [deadly], clock, onStalled: (signal) => signals.push(signal) });
    };
    const first = await worker(0);
    await first.start(deadly, {}, { id: "one" });
    for (let lapses = 0; lapses <= 3; lapses++) {
      const amends = await worker(lapses);
      await database.worker(amends);
      await expect.poll(() => acts.length).toBe(lapses + 1);
    }
    const last = await worker(4);
    expect(await last.worker().runOnce()).toBe(1);
    expect(await last.inspect("one")).toMatchObject({ status: "STALLED", recoveryAttempts: 4 });
    expect(acts).toEqual([1, 2, 3, 4]);
    expect(signals).toMatchObject([{ id: "one", saga: "deadly" }]);
    expect((await last.attention.list()).items).toMatchObject([{ id: "one", kind: "stalled-saga" }]);
  });

  it("[K-07] an attempt is counted at the claim, before anything of it is done", async () => {
    const once = saga("once", z.object({})).step("one", { act: () => forEver() });
    const amends = await database.amends({ sagas: [once], clock: virtualClock() });
    await database.worker(amends);
    await amends.start(once, {}, { id: "one" });
    const later = virtualClock();
    later.jump(LEASE_MS);
    const looking = await database.amends({
      sagas: [once],
      clock: later,
      middleware: [
        async ({ sagaId }, next) => {
          const view = await looking.inspect(sagaId);
          seen.push([view?.recoveryAttempts, view?.owner !== undefined]);
          return Promise.race([next(), Promise.resolve("done")]);
        },
      ],
    });
    const seen: unknown[] = [];
    await looking.worker().runOnce();
    expect(seen).toEqual([[1, true]]);
  });

  it("[K-07] a saga that gets on has its budget whole again", async () => {
    let dies = true;
    const shaky = saga("shaky", z.object({}), { recoveries: 1 })
      .step("one", { act: () => (dies ? forEver() : "1") })
      .step("two", { act: () => (dies ? forEver() : "2") });
    const at = async (lapses: number) => {
      const clock = virtualClock();
      clock.jump(lapses * LEASE_MS);
      const amends = await database.amends({ sagas: [shaky], clock });
      return amends;
    };
    const first = await at(0);
    await database.worker(first);
    await first.start(shaky, {}, { id: "one" });
    dies = false;
    const second = await at(1);
    expect(await second.worker().runOnce()).toBe(1);
    expect(await second.inspect("one")).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
  });
});
