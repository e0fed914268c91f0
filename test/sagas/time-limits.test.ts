import { err, saga, type Amends, type SagaRun } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate, type Gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";

const nothing = z.object({});

/** Works off whatever is due, then moves on to the next second, and so on. */
async function runFor(amends: Amends, clock: VirtualClock, seconds: number): Promise<void> {
  for (let second = 0; second <= seconds; second++) {
    if (second > 0) clock.jump(1_000);
    await amends.worker().runOnce();
  }
}

/** How long the saga says that it waits after each failed try; into `waits` as soon as it says so. */
async function recordedWaits(run: SagaRun, waits: number[] = []): Promise<readonly number[]> {
  for await (const { error } of run.stream()) if (error?.kind === "retry") waits.push(error.waitMs);
  return waits;
}

/** An act that lasts until it is told to stop, as a well-behaved client does. */
function untilStopped(at: Gate, signal: AbortSignal): Promise<never> {
  void at.pass();
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-21] by default a throw is tried again after 1 s, doubling up to one hour, eight times in all", async () => {
    const clock = virtualClock();
    const at: number[] = [];
    const failing = saga("failing", nothing).step("one", {
      act: () => {
        at.push(clock.virtualNowMs());
        throw new Error("busy");
      },
    });
    const amends = await database.amends({ sagas: [failing], clock });
    const run = await amends.start(failing, {});
    const heard: number[] = [];
    const waits = recordedWaits(run, heard);
    const working = amends.worker().runOnce();
    await vi.waitFor(() => expect(heard).toEqual([1_000]));
    // A wait of up to a second is spent in the worker; the longer ones are durable.
    await clock.advance(1_000);
    await working;
    expect(at).toHaveLength(2);
    for (const seconds of [2, 4, 8, 16, 32, 64]) {
      const view = await amends.inspect(run.id);
      const dueAt = view?.dueAt?.getTime() ?? Number.NaN;
      const failed = view?.timeline.filter(({ status }) => status === "FAILED").at(-1);
      expect(dueAt - (failed?.at.getTime() ?? 0)).toBe(seconds * 1_000);
      clock.jump(dueAt - 1 - clock.virtualNowMs());
      expect(await amends.worker().runOnce()).toBe(0);
      clock.jump(1);
      expect(await amends.worker().runOnce()).toBe(1);
    }
    expect(at).toHaveLength(8);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "exhausted" } });
    expect(await waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]);
  });

  it("[S-21] a step's own policy goes before the saga's", async () => {
    const clock = virtualClock();
    const at: number[] = [];
    const failing = saga("failing", nothing, { retry: { attempts: 5, base: "3s" } })
      .step("calm", { act: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("busy")) : attempt) })
      .step("eager", {
        retry: { attempts: 3, base: "2s", factor: 5, cap: "6s" },
        act: () => {
          at.push(clock.virtualNowMs());
          throw new Error("busy");
        },
      });
    const amends = await database.amends({ sagas: [failing], clock });
    const startedAt = clock.virtualNowMs();
    const run = await amends.start(failing, {});
    await runFor(amends, clock, 30);
    expect(at.map((ms) => ms - startedAt)).toEqual([3_000, 5_000, 11_000]);
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "eager" });
  });

  it("[S-21][S-22] after the pivot a deadline that has passed takes no pause between two tries away", async () => {
    const clock = virtualClock();
    const late = saga("late", nothing, { deadline: "10s", retry: { base: "30s" } })
      .pivot("charge", { act: () => "charged" })
      .step("mail", { act: ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("busy")) : attempt) });
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    expect(await amends.worker().runOnce()).toBe(1);
    for (const seconds of [30, 60]) {
      clock.jump(seconds * 1_000 - 1);
      expect(await amends.worker().runOnce()).toBe(0);
      clock.jump(1);
      expect(await amends.worker().runOnce()).toBe(1);
    }
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { mail: 3 } });
  });

  it("[S-21] an err and a Terminal are never tried again", async () => {
    let calls = 0;
    const refusing = saga("refusing", nothing).step("one", { act: () => ((calls += 1), err("no")) });
    const amends = await database.amends({ sagas: [refusing] });
    const run = await amends.start(refusing, {});
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "err" } });
    expect(calls).toBe(1);
  });

  it("[S-21] a try that takes too long is stopped through its signal, and counts as a failed try", async () => {
    const clock = virtualClock();
    const at = gate();
    const slow = saga("slow", nothing).step("one", {
      timeout: "10s",
      retry: { base: "5s" },
      act: ({ attempt, signal }) => (attempt === 1 ? untilStopped(at, signal) : `attempt ${attempt}`),
    });
    const amends = await database.amends({ sagas: [slow], clock });
    const run = await amends.start(slow, {});
    const running = amends.worker().runOnce();
    await at.reached;
    await clock.advance(10_000);
    await running;
    expect((await amends.inspect(run.id))?.timeline.at(-1)).toMatchObject({
      name: "one",
      status: "FAILED",
      note: "TimedOut",
    });
    clock.jump(5_000);
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: "attempt 2" } });
  });

  it.each(["where it was started", "where it was claimed"])(
    "[S-21] the deadline of a first step spans all its tries, and wakes a saga that sleeps (%s)",
    async (where) => {
      const clock = virtualClock();
      const calls: string[] = [];
      const late = saga("late", nothing).step("one", {
        deadline: "45s",
        retry: { base: "30s" },
        compensate: () => void calls.push(`undo at ${clock.virtualNowMs() - startedAt}`),
        act: ({ attempt }) => {
          calls.push(`try ${attempt} at ${clock.virtualNowMs() - startedAt}`);
          throw new Error("busy");
        },
      });
      const amends = await database.amends({ sagas: [late], clock });
      const look = await onlooker(database);
      const startedAt = clock.virtualNowMs();
      const worker = where === "where it was started" ? await database.worker(amends) : undefined;
      const run = await amends.start(late, {});
      await vi.waitFor(async () => expect((await look.row(run.id))["owner"]).toBeNull());
      await worker?.stop();
      await runFor(amends, clock, 60);
      // Tries at 0 and 30 s; the third would be at 90 s, but the deadline comes first.
      expect(calls).toEqual(["try 1 at 0", "try 2 at 30000", "undo at 45000"]);
      expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "deadline" } });
    },
  );

  it("[S-21] a step's deadline stops a call that is under way, and the saga compensates", async () => {
    const clock = virtualClock();
    const at = gate();
    const undone: string[] = [];
    const late = saga("late", nothing)
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("two", {
        deadline: "20s",
        act: ({ signal }) => untilStopped(at, signal),
        compensate: ({ result }) => void undone.push(`two ${String(result)}`),
      });
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    const running = amends.worker().runOnce();
    await at.reached;
    await clock.advance(20_000);
    await running;
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "two",
      error: { kind: "deadline", label: "DeadlinePassed" },
    });
    expect(undone).toEqual(["two undefined", "one"]);
  });

  it("[S-21] the saga's deadline makes it compensate, also while it sleeps between two tries", async () => {
    const clock = virtualClock();
    const undone: number[] = [];
    const late = saga("late", nothing, { deadline: "1m" })
      .step("one", { act: () => 1, compensate: () => void undone.push(clock.virtualNowMs() - startedAt) })
      .step("two", { retry: { base: "1h" }, act: () => Promise.reject(new Error("busy")) });
    const amends = await database.amends({ sagas: [late], clock });
    const startedAt = clock.virtualNowMs();
    const run = await amends.start(late, {});
    await runFor(amends, clock, 70);
    expect(undone).toEqual([60_000]);
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "two", error: { kind: "deadline" } });
  });

  it("[S-21] a worker finds a deadline that has passed without anybody asking, whoever ran the saga before", async () => {
    const clock = virtualClock();
    const undone: string[] = [];
    const late = saga("late", nothing, { deadline: "1m" })
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("two", { retry: { base: "1h" }, act: () => Promise.reject(new Error("busy")) });
    const first = await database.amends({ sagas: [late], clock });
    const { id } = await first.start(late, {});
    await first.worker().runOnce();
    await first.close();
    const second = await database.amends({ sagas: [late], clock });
    await database.worker(second);
    const look = await onlooker(database);
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect((await look.row(id))["status"]).toBe("FAILED");
    }, 20_000);
    expect(undone).toEqual(["one"]);
  });

  it("[S-21] a saga whose time was up before anybody took it ends without a call", async () => {
    const clock = virtualClock();
    const calls: string[] = [];
    // What was never begun is not undone either.
    const late = saga("late", nothing, { deadline: "1m" }).step("one", {
      act: () => calls.push("act"),
      compensate: () => void calls.push("undo"),
    });
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    clock.jump(60_000);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "deadline" } });
    expect(calls).toEqual([]);
  });

  it("[S-21] past the pivot no deadline turns the saga back", async () => {
    const clock = virtualClock();
    const late = saga("late", nothing, { deadline: "1m" })
      .pivot("one", { act: () => 1 })
      .step("two", {
        retry: { base: "50s", factor: 1 },
        act: ({ attempt }) => (attempt < 4 ? Promise.reject(new Error("busy")) : attempt),
      });
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    await runFor(amends, clock, 160);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { two: 4 } });
  });

  it("[S-21] no deadline hurries an undo", async () => {
    const clock = virtualClock();
    const late = saga("late", nothing, { deadline: "1m" })
      .step("one", {
        act: () => 1,
        compensateRetry: { base: "2m" },
        compensate: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("busy")) : undefined),
      })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    await amends.worker().runOnce();
    clock.jump(60_000);
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(60_000);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "err", value: "no" } });
  });
});
