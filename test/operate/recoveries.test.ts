import { saga, type Amends } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { gatekeeper } from "./support/hold.ts";

const LEASE_MS = 60_000;

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[K-07] a saga whose worker dies in every act is ended before another call is made", async () => {
    const signals: unknown[] = [];
    const acts: number[] = [];
    const held = gate();
    const deadly = saga("deadly", z.object({}), { recoveries: 3 }).step("one", {
      act: ({ attempt }) => {
        acts.push(attempt);
        return held.pass();
      },
      compensate: () => undefined,
    });
    // Each worker has a clock of its own that stands still: once it has begun the call it is never heard of again.
    const worker = async (lapses: number) => {
      const clock = virtualClock();
      clock.jump(lapses * LEASE_MS);
      return database.amends({ sagas: [deadly], clock, onStalled: (signal) => signals.push(signal) });
    };
    const dead: Amends[] = [];
    const first = await worker(0);
    await first.start(deadly, {}, { id: "one" });
    for (let lapses = 0; lapses <= 3; lapses++) {
      const amends = await worker(lapses);
      dead.push(amends);
      await database.worker(amends);
      await expect.poll(() => acts.length).toBe(lapses + 1);
    }
    const last = await worker(4);
    expect(await last.worker().runOnce()).toBe(1);
    expect(await last.inspect("one")).toMatchObject({ status: "STALLED", recoveryAttempts: 4 });
    expect(acts).toEqual([1, 2, 3, 4]);
    expect(signals).toMatchObject([{ id: "one", saga: "deadly" }]);
    expect((await last.attention.list()).items).toMatchObject([{ id: "one", kind: "stalled-saga" }]);
    // The dead come back: none of them can write any more.
    held.open();
    await expect.poll(() => dead.map((amends) => amends.counters.lost)).toEqual([1, 1, 1, 1]);
    expect(await last.inspect("one")).toMatchObject({ status: "STALLED" });
  });

  it("[K-07] an attempt is counted at the claim, before anything of it is done", async () => {
    const held = gate();
    const seen: unknown[] = [];
    let look: () => Promise<unknown> = () => Promise.resolve();
    const once = saga("once", z.object({})).step("one", {
      act: async ({ attempt }) => {
        if (attempt === 1) return held.pass();
        seen.push(await look());
        return undefined;
      },
    });
    const first = await database.amends({ sagas: [once], clock: virtualClock() });
    await database.worker(first);
    await first.start(once, {}, { id: "one" });
    await held.reached;
    const later = virtualClock();
    later.jump(LEASE_MS);
    const second = await database.amends({ sagas: [once], clock: later });
    look = async () => (await second.inspect("one"))?.recoveryAttempts;
    await second.worker().runOnce();
    expect(seen).toEqual([1]);
    held.open();
  });

  it("[K-07] being given back is no progress: what was counted stays counted", async () => {
    const held = gate();
    const waits = saga("waits", z.object({})).step("one", {
      retry: { base: "1h" },
      act: ({ attempt }) => (attempt === 1 ? held.pass() : Promise.reject(new Error("busy"))),
    });
    const first = await database.amends({ sagas: [waits], clock: virtualClock() });
    await database.worker(first);
    await first.start(waits, {}, { id: "one" });
    await held.reached;
    const later = virtualClock();
    later.jump(LEASE_MS);
    const second = await database.amends({ sagas: [waits], clock: later });
    // It takes the saga over, fails, and gives it back until the next try.
    await second.worker().runOnce();
    expect(await second.inspect("one")).toMatchObject({ owner: undefined, recoveryAttempts: 1 });
    held.open();
  });

  it("[K-07] a saga that gets on has its budget whole again", async () => {
    const held = gate<string>();
    let deaths = 0;
    const act = ({ attempt }: { readonly attempt: number }): Promise<string> | string => {
      if (attempt > 1) return "done";
      deaths++;
      return held.pass();
    };
    const unconfirmedRecovery = saga("shaky", z.object({}), { recoveries: 1 })
      .step("one", { act })
      .step("two", { act })
      .step("three", { act });
    await database.place();
    const workers = await Promise.all(
      [0, 1, 2, 3].map(async (lapses) => {
        const clock = virtualClock();
        clock.jump(lapses * LEASE_MS);
        return database.amends({ sagas: [unconfirmedRecovery], clock });
      }),
    );
    const [first, , , last] = workers as [Amends, Amends, Amends, Amends];
    await first.start(unconfirmedRecovery, {}, { id: "one" });
    // Each gets one step further than the one before, and dies in the next.
    for (const [index, amends] of workers.entries()) {
      await database.worker(amends);
      await expect
        .poll(async () => {
          const view = await amends.inspect("one");
          return [Object.keys(view?.results ?? {}).length, view?.status];
        })
        .toEqual([index, index === 3 ? "COMPLETED" : "RUNNING"]);
      await expect.poll(() => deaths).toBe(Math.min(index + 1, 3));
    }
    expect(await last.inspect("one")).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
    held.open("late");
  });
});
