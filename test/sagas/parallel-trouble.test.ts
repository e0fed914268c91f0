import { err, saga, type Amends } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { forEver, gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";
import { watchedClock } from "../support/watched-clock.ts";
import { throughRenewals } from "./support/renewals.ts";

const nothing = z.object({});
const why = { reason: "customer called", by: "ann" };

/** Fails when it is told to stop, as a well-behaved client does. */
function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
}

async function hasResult(amends: Amends, id: string, step: string): Promise<void> {
  await vi.waitFor(async () => expect((await amends.inspect(id))?.results).toHaveProperty(step));
}

async function hasFailed(amends: Amends, id: string, step: string): Promise<void> {
  await vi.waitFor(async () => {
    const { timeline = [] } = (await amends.inspect(id)) ?? {};
    expect(timeline.filter(({ name }) => name === step).map(({ status }) => status)).toContain("FAILED");
  });
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-24][S-09][S-29] after a crash what has a result is not repeated, and the others are called by the same key", async () => {
    const calls: string[] = [];
    const begun = gate();
    const quick = ({ key, attempt }: { key: string; attempt: number }): string => {
      calls.push(`${key} ${attempt}`);
      return "done";
    };
    let isFirst = true;
    const trip = saga("trip", nothing).parallel("bookings", (group) =>
      group
        .step("flight", { act: quick })
        .step("hotel", {
          act: (context) => {
            if (!isFirst) return quick(context);
            isFirst = false;
            quick(context);
            void begun.pass();
            return forEver();
          },
        })
        .step("car", { act: (context) => (context.attempt === 1 ? forEver() : quick(context)) }),
    );
    const { first, second, lapse } = await pair(database, { sagas: [trip] });
    await first.start(trip, {}, { id: "t-1" });
    void first.worker().runOnce();
    await begun.reached;
    await hasResult(first, "t-1", "flight");
    lapse();
    expect(await second.worker().runOnce()).toBe(1);
    expect(await second.inspect("t-1")).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
    const later = ["t-1:hotel:act 2", "t-1:car:act 2"];
    expect(calls).toEqual(["t-1:flight:act 1", "t-1:hotel:act 1", ...later]);
  });

  it("[S-24][S-06][S-11] a failure that is recorded holds after a crash: what was in doubt is undone, nothing is called again", async () => {
    const calls: string[] = [];
    const begun = gate();
    const undo = (name: string) => ({
      compensate: ({ result, actKey }: { result: unknown; actKey: string }) =>
        void calls.push(`undo ${name} ${String(result)} ${actKey}`),
    });
    const trip = saga("trip", nothing).parallel("bookings", (group) =>
      group
        .step("flight", { act: () => "F", ...undo("flight") })
        .step("hotel", {
          act: () => {
            calls.push("act hotel");
            void begun.pass();
            return forEver();
          },
          ...undo("hotel"),
        })
        .step("car", { act: () => err("none left"), ...undo("car") }),
    );
    const { first, second, lapse } = await pair(database, { sagas: [trip] });
    await first.start(trip, {}, { id: "t-1" });
    void first.worker().runOnce();
    await begun.reached;
    await vi.waitFor(async () => expect((await first.inspect("t-1"))?.error).toBeDefined());
    expect(await first.inspect("t-1")).toMatchObject({ status: "RUNNING" });
    lapse();
    expect(await second.worker().runOnce()).toBe(1);
    const view = await second.inspect("t-1");
    expect(view).toMatchObject({ status: "FAILED", error: { kind: "err", value: "none left" } });
    expect(calls).toEqual([
      "act hotel",
      "undo hotel undefined t-1:hotel:act",
      "undo flight F t-1:flight:act",
    ]);
    expect(view?.timeline).toContainEqual(
      expect.objectContaining({ name: "turn", note: "failed", step: "car" }),
    );
  });

  it("[S-24][S-23] a cancel tells all that run, waits for them, and undoes what they did", async () => {
    const [stubborn, told] = [gate<string>(), gate()];
    const calls: string[] = [];
    const undo = (name: string) => ({
      compensate: ({ result }: { result: unknown }) => void calls.push(`undo ${name} ${String(result)}`),
    });
    const trip = saga("trip", nothing).parallel(
      "bookings",
      (group) =>
        group
          .step("flight", { act: () => stubborn.pass(), ...undo("flight") })
          .step("hotel", {
            act: async ({ signal }) => {
              void told.pass();
              try {
                return await untilStopped(signal);
              } finally {
                calls.push("hotel was told");
              }
            },
            ...undo("hotel"),
          })
          .step("car", { act: () => void calls.push("act car"), ...undo("car") }),
      { concurrency: 2 },
    );
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    const run = await amends.start(trip, {});
    await Promise.all([stubborn.reached, told.reached]);
    await amends.cancel(run.id, why);
    await vi.waitFor(async () =>
      expect((await amends.inspect(run.id))?.timeline).toContainEqual(
        expect.objectContaining({ name: "hotel", status: "FAILED" }),
      ),
    );
    expect(calls).toEqual(["hotel was told"]);
    stubborn.open("F");
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(calls).toEqual(["hotel was told", "undo hotel undefined", "undo flight F"]);
  });

  it("[S-24] a step whose beginning is durable, but that was not called when another failed, is neither called nor undone", async () => {
    const calls: string[] = [];
    const trip = saga("trip", nothing).parallel(
      "bookings",
      (group) =>
        group
          .step("flight", {
            act: () => "F",
            compensate: () => void calls.push("undo flight"),
          })
          // Ends while the line is written that records the flight and begins the car.
          .step("hotel", {
            act: async () => {
              for (let turn = 0; turn < 4; turn++) await Promise.resolve();
              return err("full");
            },
          })
          .step("car", {
            act: () => void calls.push("act car"),
            compensate: () => void calls.push("undo car"),
          }),
      { concurrency: 2 },
    );
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    const run = await amends.start(trip, {});
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "hotel" });
    expect(calls).toEqual(["undo flight"]);
    const begun = (await amends.inspect(run.id))?.timeline.filter(({ status }) => status === "STARTED");
    expect(begun?.map(({ name }) => name)).toEqual(["flight", "hotel", "car", "flight"]);
  });

  it("[S-24][S-21] the timeout of one stops that one only, and does not give the others' saga away", async () => {
    const clock = watchedClock();
    const [slow, hung] = [gate<string>(), gate()];
    const aborted: string[] = [];
    const mixed = saga("mixed", nothing).parallel("both", (group) =>
      group
        .step("slow", {
          act: async ({ signal }) => {
            const value = await slow.pass();
            if (signal.aborted) aborted.push("slow");
            return value;
          },
        })
        .step("hung", {
          timeout: "5s",
          retry: { base: "20s" },
          act: ({ signal, attempt }) => {
            if (attempt > 1) return "late";
            signal.addEventListener("abort", () => aborted.push("hung"));
            return hung.pass().then(() => Promise.reject(new Error("after its time")));
          },
        }),
    );
    const first = await database.amends({ sagas: [mixed], clock });
    const second = await database.amends({ sagas: [mixed], clock });
    const run = await first.start(mixed, {});
    const working = first.worker().runOnce();
    await Promise.all([slow.reached, hung.reached]);
    await throughRenewals(16, {
      clock,
      look: await onlooker(database),
      id: run.id,
      each: async () => expect(await second.worker().runOnce()).toBe(0),
    });
    expect(aborted).toEqual(["hung"]);
    hung.open();
    await vi.waitFor(async () =>
      expect((await first.inspect(run.id))?.timeline).toContainEqual(
        expect.objectContaining({ name: "hung", status: "FAILED", note: "TimedOut" }),
      ),
    );
    slow.open("S");
    let isOver = false;
    void working.finally(() => (isOver = true));
    // A next try that is due within a second is waited for in the slot: time goes on until the slot is free.
    await vi.waitFor(
      async () => {
        await clock.advance(500);
        expect(isOver).toBe(true);
      },
      { timeout: 30_000 },
    );
    await clock.advance(30_000);
    await first.worker().runOnce();
    expect(await run.result()).toMatchObject({ results: { slow: "S", hung: "late" } });
    expect(aborted).toEqual(["hung"]);
  });

  it("[S-24][S-21] a step's own deadline passes between two tries: the saga turns back, and names that step", async () => {
    const clock = virtualClock();
    const undone: string[] = [];
    const late = saga("late", nothing).parallel("both", (group) =>
      group
        .step("slow", {
          act: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("busy")) : attempt),
          retry: { attempts: 9, base: "50s" },
          compensate: () => void undone.push("slow"),
        })
        .step("urgent", {
          act: () => Promise.reject(new Error("busy")),
          retry: { attempts: 9, base: "40s" },
          deadline: "20s",
          compensate: () => void undone.push("urgent"),
        }),
    );
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    expect(await amends.worker().runOnce()).toBe(1);
    clock.jump(19_999);
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(1);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "urgent",
      error: { kind: "deadline" },
    });
    expect(undone).toEqual(["urgent", "slow"]);
  });

  it("[S-24][S-21] the saga's deadline stops all that run", async () => {
    const clock = virtualClock();
    const begun = [gate(), gate()] as const;
    const act = (which: 0 | 1) => (context: { signal: AbortSignal }) => {
      void begun[which].pass();
      return untilStopped(context.signal);
    };
    const late = saga("late", nothing, { deadline: "10s" }).parallel("both", (group) =>
      group.step("one", { act: act(0) }).step("two", { act: act(1) }),
    );
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    const working = amends.worker().runOnce();
    await Promise.all(begun.map(({ reached }) => reached));
    await clock.advance(10_000);
    await working;
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "deadline" } });
  });

  it("[S-24][S-22][S-14] after the pivot a failure waits for the others, then stalls; a retry calls what failed, a skip goes on without", async () => {
    const slow = gate<string>();
    let isFixed = false;
    const calls: string[] = [];
    const order = saga("order", nothing)
      .pivot("charge", { act: () => 1 })
      .parallel("tell", (group) =>
        group
          .step("mail", {
            act: () => {
              calls.push("mail");
              return isFixed ? "M" : err("bounced");
            },
          })
          .step("stock", {
            act: () => {
              calls.push("stock");
              return slow.pass();
            },
          })
          .step("news", { act: () => err("unknown") }),
      )
      .step("close", { act: ({ results }) => [results.mail, results.stock, results.news] });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await slow.reached;
    await vi.waitFor(async () => expect((await amends.inspect(run.id))?.error).toBeDefined());
    expect(await run.status()).toBe("RUNNING");
    slow.open("S");
    expect(await run.result()).toMatchObject({ status: "STALLED", step: "mail" });
    isFixed = true;
    await amends.retry(run.id, why);
    const again = await (await amends.get(run.id)).result();
    expect(again).toMatchObject({ status: "STALLED", step: "news" });
    expect((await amends.inspect(run.id))?.skippable).toEqual(["news"]);
    expect(calls).toEqual(["mail", "stock", "mail"]);
    await amends.skip(run.id, "news", { ...why, result: "N" });
    const after = await amends.get(run.id);
    expect(await after?.result()).toMatchObject({ status: "COMPLETED", results: { close: ["M", "S", "N"] } });
  });

  it("[S-24][S-14] an undo of a group that fails stalls the saga, and the others are undone all the same", async () => {
    const undone: string[] = [];
    const trip = saga("trip", nothing, { compensateRetry: { attempts: 1 } })
      .parallel("bookings", (group) =>
        group
          .step("flight", { act: () => 1, compensate: () => void undone.push("flight") })
          .step("hotel", { act: () => 2, compensate: () => Promise.reject(new Error("closed")) }),
      )
      .step("pay", { act: () => err("declined") });
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    const run = await amends.start(trip, {});
    expect(await run.result()).toMatchObject({ status: "STALLED", undoErrors: [{ step: "hotel" }] });
    expect(undone).toEqual(["flight"]);
    await amends.skip(run.id, "hotel", why);
    expect(await (await amends.get(run.id)).result()).toMatchObject({ status: "FAILED" });
  });

  it("[S-24][K-18] a worker that stops lets the acts finish, begins no other, and gives the saga back", async () => {
    const slow = gate<string>();
    const acts: string[] = [];
    const trip = saga("trip", nothing).parallel(
      "bookings",
      (group) =>
        group
          .step("flight", { act: () => slow.pass() })
          .step("hotel", { act: () => "H" })
          .step("car", { act: ({ signal }) => untilStopped(signal) })
          .step("bus", { act: () => void acts.push("bus") }),
      { concurrency: 3 },
    );
    const amends = await database.amends({ sagas: [trip] });
    const worker = await database.worker(amends);
    const run = await amends.start(trip, {});
    await slow.reached;
    await hasResult(amends, run.id, "bus");
    const stopping = worker.stop({ deadline: "50ms" });
    slow.open("F");
    await stopping;
    const view = await amends.inspect(run.id);
    expect(view).toMatchObject({ status: "RUNNING", owner: undefined, recoveryAttempts: 0 });
    expect(view?.results).toEqual({ flight: "F", hotel: "H" });
    expect(view?.timeline.some(({ status }) => status === "FAILED")).toBe(false);
    expect(acts).toEqual(["bus"]);
  });

  it.each(["a sibling has failed", "somebody cancels"])(
    "[S-24][S-11][S-14][K-18] an act that a shutdown interrupts after %s is in doubt, and undone by whoever goes on",
    async (reason) => {
      const effects = new Set<string>();
      const [refused, begun] = [gate<"no">(), gate()];
      const trip = saga("trip", nothing).parallel("bookings", (group) =>
        group.step("flight", { act: async () => err(await refused.pass()) }).step("hotel", {
          act: ({ key, signal }) => {
            effects.add(key);
            void begun.pass();
            return untilStopped(signal);
          },
          compensate: ({ actKey }) => void effects.delete(actKey),
        }),
      );
      const amends = await database.amends({ sagas: [trip] });
      const other = await database.amends({ sagas: [trip] });
      const worker = await database.worker(amends);
      const { id } = await amends.start(trip, {});
      await Promise.all([refused.reached, begun.reached]);
      // From elsewhere, so that this worker would only hear of it later.
      if (reason === "somebody cancels") await other.cancel(id, why);
      refused.open("no");
      if (reason !== "somebody cancels") await hasFailed(amends, id, "flight");
      await worker.stop({ deadline: "50ms" });
      expect(await amends.inspect(id)).toMatchObject({ status: "RUNNING" });
      await database.worker(other);
      expect(await (await other.get(id)).result()).toMatchObject({ status: "FAILED" });
      expect([...effects]).toEqual([]);
    },
  );

  it("[S-24][S-16] a worker that lost the saga waits for its calls, and records nothing more", async () => {
    const begun = [gate(), gate()] as const;
    const trip = saga("trip", nothing).parallel("both", (group) =>
      group
        .step("one", { act: ({ attempt }) => (attempt > 1 ? "second" : begun[0].pass().then(() => "first")) })
        .step("two", {
          act: ({ attempt }) => (attempt > 1 ? "second" : begun[1].pass().then(() => "first")),
        }),
    );
    const { first, second, lapse } = await pair(database, { sagas: [trip] });
    await first.start(trip, {}, { id: "t-1" });
    const working = first.worker().runOnce();
    await Promise.all(begun.map(({ reached }) => reached));
    lapse();
    expect(await second.worker().runOnce()).toBe(1);
    for (const one of begun) one.open();
    await working;
    expect(first.counters).toMatchObject({ lost: 1, completed: 0 });
    expect(await second.inspect("t-1")).toMatchObject({ results: { one: "second", two: "second" } });
  });

  it("[S-24] steps of a group do not see each other's results, also when they are called again", async () => {
    const clock = virtualClock();
    const seen: unknown[] = [];
    const trip = saga("trip", nothing, { retry: { base: "30s" } })
      .step("quote", { act: () => 7 })
      .parallel("bookings", (group) =>
        group.step("flight", { act: () => "F" }).step("hotel", {
          act: ({ results, attempt }) => {
            seen.push({ ...results });
            if (attempt < 3) throw new Error("busy");
          },
        }),
      );
    const amends = await database.amends({ sagas: [trip], clock });
    const run = await amends.start(trip, {});
    for (const seconds of [0, 30, 60]) {
      clock.jump(seconds * 1_000);
      await amends.worker().runOnce();
    }
    expect(await run.status()).toBe("COMPLETED");
    expect(seen).toEqual([{ quote: 7 }, { quote: 7 }, { quote: 7 }]);
  });

  it("[S-24][S-18] a start whose id exists writes nothing into the other saga's log", async () => {
    const look = await onlooker(database);
    const held = gate();
    const plain = saga("plain", nothing).step("one", { act: () => held.pass() });
    const act = (): number => 1;
    const trip = saga("trip", nothing).parallel("both", (group) =>
      group.step("a", { act }).step("b", { act }),
    );
    const amends = await database.amends({ sagas: [plain, trip] });
    await database.worker(amends);
    const run = await amends.start(plain, {}, { id: "s-1" });
    await held.reached;
    const both = [amends.start(trip, {}, { id: "s-1" }), amends.start(trip, {}, { id: "s-2" })];
    const [refused, made] = await Promise.allSettled(both);
    expect(refused).toMatchObject({ status: "rejected", reason: { code: "SAGA_CONFLICT" } });
    expect(made).toMatchObject({ status: "fulfilled" });
    expect(await look.lines("s-1")).toEqual([]);
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(await (await amends.start(trip, {}, { id: "s-2" })).result()).toMatchObject({
      status: "COMPLETED",
    });
  });

  it("[S-24][S-25] a wait after a group costs no commit of its own", async () => {
    const clock = virtualClock();
    const look = await onlooker(database);
    const act = (): number => 1;
    const trip = saga("trip", nothing)
      .parallel("both", (group) => group.step("a", { act }).step("b", { act }))
      .sleep("night", "8h")
      .step("mail", { act });
    const amends = await database.amends({ sagas: [trip], clock });
    const run = await amends.start(trip, {});
    await amends.worker().runOnce();
    expect(await look.lines(run.id)).toEqual([
      "$claim act COMPLETED",
      "b act STARTED",
      "a act COMPLETED",
      "b act COMPLETED",
    ]);
    expect(await amends.inspect(run.id)).toMatchObject({ waiting: { step: "night" }, owner: undefined });
    clock.jump(8 * 3_600_000);
    await amends.worker().runOnce();
    expect(await run.status()).toBe("COMPLETED");
  });

  it("[S-24][S-30] a worker whose groups no longer fit leaves the saga alone, and attention has the difference", async () => {
    const act = (): number => 1;
    const failing = (): never => {
      throw new Error("busy");
    };
    const before = saga("trip", nothing, { retry: { base: "30s" } }).parallel("both", (group) =>
      group.step("a", { act: failing }).step("b", { act }),
    );
    const after = saga("trip", nothing)
      .step("a", { act })
      .parallel("both", (group) => group.step("b", { act }));
    const { first, second, secondClock } = await pair(database, { sagas: [before] }, { sagas: [after] });
    const run = await first.start(before, {});
    await first.worker().runOnce();
    secondClock.jump(601_000);
    await second.worker().runOnce();
    expect(await run.status()).toBe("RUNNING");
    expect((await second.attention.list({ kind: "unserved-kind" })).items[0]?.reason).toContain(
      ": step a left group both.",
    );
  });

  it("[S-24][S-28] what the steps of a group emit goes out with each of them", async () => {
    const look = await onlooker(database);
    const act =
      (type: string) =>
      ({ emit }: { emit: (event: { type: string }) => void }): void =>
        emit({ type });
    const trip = saga("trip", nothing).parallel("both", (group) =>
      group.step("a", { act: act("A") }).step("b", { act: act("B") }),
    );
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    await (await amends.start(trip, {})).result();
    expect((await look.events()).toSorted()).toEqual(["A null", "B null"]);
  });
});
