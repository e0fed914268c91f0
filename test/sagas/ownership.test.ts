import { err, saga, type Amends, type StalledSignal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { RENEWALS } from "../../src/runtime/renewal.ts";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { forEver, gate, type Gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { LEASE_MS, pair } from "./support/pair.ts";
import { watchedClock } from "../support/watched-clock.ts";
import { throughRenewals } from "./support/renewals.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-16] a healthy running saga is never taken, however long its step lasts", async () => {
    const clock = watchedClock();
    const look = await onlooker(database);
    const held = gate();
    const calls: number[] = [];
    const slow = saga("slow", nothing).step("one", {
      act: ({ attempt }) => {
        calls.push(attempt);
        return held.pass();
      },
    });
    const first = await database.amends({ sagas: [slow], clock });
    const second = await database.amends({ sagas: [slow], clock });
    const run = await first.start(slow, {});
    const running = first.worker().runOnce();
    await held.reached;
    await throughRenewals(32, {
      clock,
      look,
      id: run.id,
      each: async () => expect(await second.worker().runOnce()).toBe(0),
    });
    held.open();
    await running;
    expect(await (await second.get(run.id)).status()).toBe("COMPLETED");
    expect(calls).toEqual([1]);
  });

  it("[S-16] ownership spans checkpoints: between two steps nobody else gets in", async () => {
    const clock = virtualClock();
    const [one, two] = [gate(), gate()];
    const chain = saga("chain", nothing)
      .step("one", { act: () => one.pass() })
      .step("two", { act: () => two.pass() });
    const first = await database.amends({ sagas: [chain], clock });
    const second = await database.amends({ sagas: [chain], clock });
    await first.start(chain, {});
    const running = first.worker().runOnce();
    await one.reached;
    expect(await second.worker().runOnce()).toBe(0);
    one.open();
    await two.reached;
    expect(await second.worker().runOnce()).toBe(0);
    two.open();
    await running;
    expect(first.counters).toMatchObject({ completed: 1, lost: 0 });
  });

  it("[S-16] two recoverers never run one saga at once", async () => {
    const calls: string[] = [];
    const quick = saga("quick", nothing).step("one", { act: ({ sagaId }) => void calls.push(sagaId) });
    const starter = await database.amends({ sagas: [quick] });
    for (let n = 0; n < 40; n++) await starter.start(quick, {}, { id: `s-${n}` });
    const workers: Amends[] = [];
    for (let n = 0; n < 4; n++) workers.push(await database.amends({ sagas: [quick] }));
    const taken = await Promise.all(
      workers.flatMap((amends) => [amends.worker({ concurrency: 15 }).runOnce()]),
    );
    while ((await workers[0]?.worker().runOnce()) !== 0);
    expect(taken.every((n) => n <= 15)).toBe(true);
    expect(calls.length).toBe(40);
    expect(new Set(calls).size).toBe(40);
  });

  it("[S-16] whoever lost its lease is told to stop, and what it brings afterwards is not written", async () => {
    const look = await onlooker(database);
    const held = gate();
    const signals: AbortSignal[] = [];
    const chain = saga("chain", nothing).step("one", {
      act: async ({ attempt, signal }) => {
        signals.push(signal);
        if (attempt === 1) await held.pass();
        return attempt;
      },
    });
    const clock = virtualClock();
    const later = virtualClock(clock.virtualNowMs() + LEASE_MS + 1);
    const first = await database.amends({ sagas: [chain], clock });
    const second = await database.amends({ sagas: [chain], clock: later });
    const run = await first.start(chain, {});
    const lost = first.worker().runOnce();
    await held.reached;
    expect(await second.worker().runOnce()).toBe(1);
    const after = await look.lines(run.id);
    await clock.advance(LEASE_MS / RENEWALS);
    await vi.waitFor(() => expect(signals[0]?.aborted).toBe(true));
    held.open();
    await lost;
    expect(first.counters).toMatchObject({ lost: 1, completed: 0 });
    expect(await look.lines(run.id)).toEqual(after);
    expect(await (await second.get(run.id)).result()).toMatchObject({ results: { one: 2 } });
  });

  it("[S-16] a worker whose checkpoint is refused because another one has the saga calls and writes nothing more", async () => {
    const look = await onlooker(database);
    const [held, taken] = [gate(), gate()];
    const calls: string[] = [];
    const act = (by: string, at: Gate) => (): Promise<void> => {
      calls.push(by);
      // Each holds its first call only.
      return calls.filter((one) => one === by).length === 1 ? at.pass() : Promise.resolve();
    };
    const chainOf = (by: string, at: Gate) => saga("chain", nothing).step("one", { act: act(by, at) });
    const [mine, theirs] = [chainOf("first", held), chainOf("second", taken)];
    // Neither clock moves on: no renewal tells the first worker that it has lost the saga.
    const { first, second, lapse } = await pair(database, { sagas: [mine] }, { sagas: [theirs] });
    const run = await first.start(mine, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    const takeover = second.worker().runOnce();
    await taken.reached;
    const after = await look.lines(run.id);
    held.open();
    await lost;
    expect(first.counters).toMatchObject({ lost: 1, completed: 0 });
    expect(calls).toEqual(["first", "second"]);
    expect(await look.lines(run.id)).toEqual(after);
    taken.open();
    await takeover;
    expect(await run.status()).toBe("COMPLETED");
  });

  it("[S-17] recovery takes PENDING, RUNNING and COMPENSATING sagas whose lease has lapsed, and no others", async () => {
    const held = gate();
    const turning = saga("turning", z.object({ how: z.enum(["run", "turn", "wait"]) }))
      .step("one", {
        act: ({ input, attempt }) => (input.how === "run" && attempt === 1 ? forEver() : 1),
        compensate: ({ attempt }) => (attempt === 1 ? forEver() : undefined),
      })
      .step("two", {
        act: ({ input }) => {
          if (input.how !== "turn") return 2;
          void held.pass();
          return err("no");
        },
      });
    const { first, second, lapse } = await pair(database, { sagas: [turning] });
    const look = await onlooker(database);
    await first.start(turning, { how: "run" }, { id: "run" });
    await first.start(turning, { how: "turn" }, { id: "turn" });
    void first.worker().runOnce();
    await held.reached;
    await vi.waitFor(async () => expect((await look.row("turn"))["status"]).toBe("COMPENSATING"));
    expect((await look.row("run"))["status"]).toBe("RUNNING");
    expect(await second.worker().runOnce()).toBe(0);
    await second.start(turning, { how: "wait" }, { id: "wait" });
    lapse();
    expect(await second.worker().runOnce()).toBe(3);
    const statuses = await Promise.all(["run", "turn", "wait"].map((id) => look.row(id)));
    expect(statuses.map((row) => row["status"])).toEqual(["COMPLETED", "FAILED", "COMPLETED"]);
    lapse();
    expect(await second.worker().runOnce()).toBe(0);
  });

  it("[S-17] the recovery is counted at the claim, and a saga that gets on has its whole budget again", async () => {
    const look = await onlooker(database);
    const counts: unknown[] = [];
    const held = gate();
    const chain = saga("chain", nothing)
      .step("one", {
        act: async ({ sagaId, attempt }) => {
          counts.push((await look.row(sagaId))["recovery_attempts"]);
          if (attempt === 1) await held.pass();
        },
      })
      .step("two", {
        act: async ({ sagaId }) => void counts.push((await look.row(sagaId))["recovery_attempts"]),
      });
    const { first, second, lapse } = await pair(database, { sagas: [chain] });
    await first.start(chain, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.worker().runOnce();
    expect(counts).toEqual([0, 1, 0]);
    held.open();
    await lost;
  });

  it("[S-17] a saga that loses every worker becomes STALLED, loudly, without a further call", async () => {
    const signals: StalledSignal[] = [];
    let calls = 0;
    const deadly = saga("deadly", nothing, { recoveries: 2 }).step("one", {
      act: () => {
        calls += 1;
        return forEver();
      },
    });
    const clock = virtualClock();
    const starter = await database.amends({ sagas: [deadly], clock });
    const { id } = await starter.start(deadly, {});
    for (let life = 1; life <= 3; life++) {
      // Every worker has a clock that stands still: it vanishes with the call.
      const now = clock.virtualNowMs() + life * (LEASE_MS + 1);
      const amends = await database.amends({ sagas: [deadly], clock: virtualClock(now) });
      void amends.worker().runOnce();
      await vi.waitFor(() => expect(calls).toBe(life));
    }
    const last = await database.amends({
      sagas: [deadly],
      clock: virtualClock(clock.virtualNowMs() + 5 * LEASE_MS),
      onStalled: (signal) => signals.push(signal),
    });
    expect(await last.worker().runOnce()).toBe(1);
    expect(calls).toBe(3);
    const reason = "its worker was lost 3 times without getting on";
    expect(await (await last.get(id)).result()).toMatchObject({ status: "STALLED", reason });
    expect(signals).toEqual([{ id, saga: "deadly", step: undefined, reason }]);
    expect((await last.attention.list()).items).toMatchObject([
      { id, reason, actions: ["retry", "resolve", "cancel"] },
    ]);
  });

  it("[S-17] a step's own failure does not use the budget of recoveries", async () => {
    const clock = virtualClock();
    const look = await onlooker(database);
    const failing = saga("failing", nothing, { recoveries: 1 }).step("one", {
      retry: { attempts: 6, base: "10s", factor: 1 },
      act: ({ attempt }) => {
        if (attempt < 6) throw new Error("busy");
        return attempt;
      },
    });
    const amends = await database.amends({ sagas: [failing], clock });
    const run = await amends.start(failing, {});
    for (let attempt = 1; attempt <= 6; attempt++) {
      expect(await amends.worker().runOnce()).toBe(1);
      expect(await look.row(run.id)).toMatchObject({ recovery_attempts: 0 });
      clock.jump(10_000);
    }
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: 6 } });
  });

  it("[S-17] sagas that lost the fewest workers are taken first", async () => {
    const order: string[] = [];
    const quick = saga("quick", nothing).step("one", { act: ({ sagaId }) => void order.push(sagaId) });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [quick], clock });
    const look = await onlooker(database);
    const lost: Record<string, number> = { thrice: 3, once: 1, never: 0, twice: 2 };
    for (const [id, times] of Object.entries(lost)) {
      await amends.start(quick, {}, { id });
      await look.db.query(
        sql`update ${look.db.dialect.table("saga_executions")} set recovery_attempts = ${times} where id = ${id}`,
      );
      clock.jump(1_000);
    }
    while ((await amends.worker({ concurrency: 1 }).runOnce()) > 0);
    expect(order).toEqual(["never", "once", "twice", "thrice"]);
  });

  it("[S-17] a worker that shuts down gives its sagas back, and that is no recovery", async () => {
    const look = await onlooker(database);
    const attempts: number[] = [];
    const chain = saga("chain", nothing).step("one", {
      act: ({ attempt, signal }) => {
        attempts.push(attempt);
        if (attempt > 1) return attempt;
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stop"))));
      },
    });
    const first = await database.amends({ sagas: [chain] });
    const worker = await database.worker(first);
    const run = await first.start(chain, {});
    await vi.waitFor(() => expect(attempts).toEqual([1]));
    await worker.stop({ deadline: "1ms" });
    expect(await look.row(run.id)).toMatchObject({ status: "RUNNING", owner: null, recovery_attempts: 0 });
    const second = await database.amends({ sagas: [chain] });
    expect(await second.worker().runOnce()).toBe(1);
    expect(attempts).toEqual([1, 2]);
    expect(await look.row(run.id)).toMatchObject({ status: "COMPLETED", recovery_attempts: 0 });
  });
});
