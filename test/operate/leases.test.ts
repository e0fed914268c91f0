import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Clock } from "../../src/storage/clock.ts";
import { RENEWALS } from "../../src/runtime/renewal.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { advanceWithRenewals, watchedClock } from "../support/watched-clock.ts";
import { gatekeeper } from "./support/hold.ts";
import { faulty, withCode } from "../storage/support/faults.ts";

const LEASE_MS = 60_000;
const RENEWAL_MS = LEASE_MS / RENEWALS;

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[K-08] while a call runs its lease is renewed, so that never more than a quarter of it is over", async () => {
    const clock = watchedClock();
    const held = gate();
    const slow = saga("slow", z.object({})).step("one", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [slow], clock });
    await database.worker(amends);
    // The claim comes just after the worker began to wait: its first look finds a lease that is too young.
    await clock.advance(1_000);
    const run = await amends.start(slow, {}, { id: "one" });
    await held.reached;
    for (let tick = 0; tick < 40; tick++) {
      await advanceWithRenewals(clock, RENEWAL_MS, 5_000);
      const dueMs = (await amends.inspect("one"))?.dueAt?.getTime() ?? 0;
      expect(dueMs - clock.virtualNowMs()).toBeGreaterThanOrEqual((LEASE_MS * 3) / 4);
    }
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(amends.counters).toMatchObject({ lost: 0, recovered: 0 });
  });

  it("[K-08] a call past its time is aborted through its signal, and keeps its place until it settles", async () => {
    const clock = virtualClock();
    const deaf = gate();
    const aborted: unknown[] = [];
    const hanging = saga("hanging", z.object({})).step("one", {
      timeout: "10s",
      act: async ({ signal, attempt }) => {
        if (attempt > 1) return "second";
        signal.addEventListener("abort", () => aborted.push((signal.reason as Error).message));
        await deaf.pass();
        return "first";
      },
    });
    const other = saga("other", z.object({})).step("one", { act: () => "other" });
    const amends = await database.amends({ sagas: [hanging, other], clock });
    await database.worker(amends, { concurrency: 1 });
    await amends.start(hanging, {}, { id: "hanging" });
    await deaf.reached;
    const waiting = await amends.start(other, {}, { id: "waiting" });
    await clock.advance(10_000);
    expect(aborted).toEqual(["amends: timeout"]);
    // The second try succeeds, and still the first one runs: there is no place for the other saga.
    await expect
      .poll(async () => {
        await clock.advance(10_000);
        return (await amends.inspect("hanging"))?.status;
      })
      .toBe("COMPLETED");
    await clock.advance(3 * LEASE_MS);
    expect(await waiting.status()).toBe("PENDING");
    deaf.open();
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return waiting.status();
      })
      .toBe("COMPLETED");
  });

  it("[K-08] a call past its lease is aborted when the database stays away", async () => {
    const clock = virtualClock();
    const reasons: unknown[] = [];
    const held = gate();
    const slow = saga("slow", z.object({})).step("one", {
      act: async ({ signal }) => {
        signal.addEventListener("abort", () => reasons.push((signal.reason as Error).message));
        await held.pass();
      },
    });
    const faults = faulty(await database.open({ clock }));
    const amends = await database.amends({ sagas: [slow], database: faults.db });
    await database.worker(amends);
    await amends.start(slow, {}, { id: "one" });
    await held.reached;
    faults.plan(
      1,
      1_000_000,
      "before",
      withCode(database.name === "postgres" ? "ECONNREFUSED" : "SQLITE_BUSY"),
    );
    try {
      await clock.advance(LEASE_MS / 2);
      expect(reasons).toEqual([]);
      await clock.advance(LEASE_MS);
      expect(reasons).toEqual(["amends: lost"]);
    } finally {
      faults.plan(1, 0, "before", withCode("none"));
    }
    held.open();
    // Nobody took it meanwhile, so its token still holds: the database alone decides whether it may write.
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return (await amends.inspect("one"))?.status;
      })
      .toBe("COMPLETED");
  });

  it("[K-09] process clocks that are ten minutes off, either way, decide nothing about ownership", async () => {
    const clock = watchedClock();
    const skewed = (ms: number): Clock => ({ ...clock, monotonicMs: () => clock.monotonicMs() + ms });
    const held = gate();
    const acts: string[] = [];
    const slow = saga("slow", z.object({}), { deadline: "5m" }).step("one", {
      act: async () => {
        acts.push("act");
        await held.pass();
      },
    });
    const early = await database.amends({
      sagas: [slow],
      database: await database.open({ clock: skewed(-600_000) }),
    });
    const late = await database.amends({
      sagas: [slow],
      database: await database.open({ clock: skewed(600_000) }),
    });
    await database.worker(early);
    const run = await early.start(slow, {}, { id: "one" });
    await held.reached;
    for (let tick = 0; tick < 20; tick++) {
      await advanceWithRenewals(clock, RENEWAL_MS, RENEWAL_MS);
      const dueMs = (await late.inspect("one"))?.dueAt?.getTime() ?? 0;
      expect(dueMs - clock.virtualNowMs()).toBeGreaterThan(LEASE_MS / 2);
      expect(await late.worker().runOnce()).toBe(0);
    }
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(acts).toEqual(["act"]);
  });

  it("[K-09] the wall clock of a process is never asked", async () => {
    const held = gate();
    let calls = 0;
    const slow = saga("slow", z.object({})).step("one", {
      act: () => ((calls += 1) === 1 ? held.pass() : undefined),
    });
    const first = await database.amends({ sagas: [slow] });
    const second = await database.amends({ sagas: [slow] });
    await database.worker(first);
    const real = Date.now;
    try {
      // The lease begins an hour ago by this clock, and is looked at an hour ahead: it would be over, if anybody asked.
      Date.now = () => real() - 3_600_000;
      const run = await first.start(slow, {}, { id: "one" });
      await held.reached;
      expect(await second.worker().runOnce()).toBe(0);
      Date.now = () => real() + 3_600_000;
      expect(await second.worker().runOnce()).toBe(0);
      held.open();
      expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    } finally {
      Date.now = real;
    }
  });
});
