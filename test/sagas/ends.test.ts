import { err, saga, Terminal, type Amends } from "amends";
import { defineCall } from "amends/calls";
import type { SagaEnd } from "amends/sagas";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { effect, effects, makeEffects, transactionOn } from "./support/effects-table.ts";
import { gate } from "./support/gate.ts";
import { pair } from "./support/pair.ts";

const Order = z.object({ cents: z.number() });
const Told = z.object({ order: z.string(), what: z.string() });

/** A call that tells what it was given. */
function telling(log: string[]) {
  return defineCall("tell", { schema: Told, handle: ({ order, what }) => void log.push(`${order} ${what}`) });
}

async function settle(amends: Amends): Promise<void> {
  while ((await amends.worker().runOnce()) > 0);
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);
  const transaction = transactionOn(database.name);

  /** Fails with an odd number of cents; its ends are written into a table of the application. */
  const order = (trouble: { on?: boolean } = {}) =>
    saga("order", Order, { retry: { attempts: 2, base: "1m" } })
      .step("reserve", { act: () => 7, compensate: () => undefined })
      .step("charge", { act: ({ input }) => (input.cents % 2 === 1 ? err("odd") : "paid") })
      .onCompleted({
        transaction,
        act: async ({ tx, sagaId, results }) => {
          await effect(tx, `${sagaId} ${results.charge} ${results.reserve}`);
          if (trouble.on) throw new Error("down");
        },
      })
      .onFailed({
        transaction,
        act: async ({ tx, sagaId, failure, step, input }) => {
          const value = failure.kind === "err" ? failure.value : failure.label;
          await effect(tx, `${sagaId} ${value} at ${step} ${input.cents}`);
          if (trouble.on) throw new Error("down");
        },
      });

  it("[S-46] what follows an end commits together with it: completed, failed, and cancelled before it began", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const both = order();
    const amends = await database.amends({ sagas: [both], database: db });
    await amends.start(both, { cents: 2 }, { id: "even" });
    await amends.start(both, { cents: 1 }, { id: "odd" });
    await amends.start(both, { cents: 4 }, { id: "early" });
    await amends.cancel("early", { reason: "changed my mind" });
    await settle(amends);
    const status = async (id: string): Promise<unknown> => (await amends.inspect(id))?.status;
    expect([await status("even"), await status("odd"), await status("early")]).toEqual([
      "COMPLETED",
      "FAILED",
      "FAILED",
    ]);
    expect(await effects(db)).toEqual(["early Cancelled at reserve 4", "even paid 7", "odd odd at charge 1"]);
    expect((await amends.inspect("even"))?.results).toEqual({ reserve: 7, charge: "paid" });
  });

  it("[S-46] while it throws, the saga has not ended; exhausted, it is STALLED, and can be retried or skipped", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const trouble = { on: true };
    const both = order(trouble);
    const amends = await database.amends({ sagas: [both], database: db });
    for (const [id, cents] of [
      ["even", 2],
      ["odd", 1],
      ["skipped", 4],
    ] as const)
      await amends.start(both, { cents }, { id });
    await settle(amends);
    expect((await amends.inspect("even"))?.status).toBe("RUNNING");
    expect((await amends.inspect("odd"))?.status).toBe("COMPENSATING");
    clock.jump(60_001);
    await settle(amends);
    for (const [id, step] of [
      ["even", "onCompleted"],
      ["odd", "onFailed"],
      ["skipped", "onCompleted"],
    ] as const)
      expect(await amends.inspect(id)).toMatchObject({ status: "STALLED", skippable: [step] });
    expect(await effects(db)).toEqual([]);
    trouble.on = false;
    for (const id of ["even", "odd"]) await amends.retry(id, { reason: "the table is back" });
    await amends.skip("skipped", "onCompleted", { reason: "written by hand" });
    await settle(amends);
    const ended = await Promise.all(
      ["even", "odd", "skipped"].map(async (id) => (await amends.inspect(id))?.status),
    );
    expect(ended).toEqual(["COMPLETED", "FAILED", "COMPLETED"]);
    expect(await effects(db)).toEqual(["even paid 7", "odd odd at charge 1"]);
  });

  it("[S-46] once it has begun, the saga can no longer be cancelled, and no deadline turns it back", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const trouble = { on: true };
    const timed = saga("timed", Order, { deadline: "1h", retry: { attempts: 5, base: "30m", cap: "30m" } })
      .step("a", { act: () => 1, compensate: () => undefined })
      .onCompleted({
        transaction,
        act: async ({ tx, sagaId }) => {
          if (trouble.on) throw new Error("down");
          await effect(tx, sagaId);
        },
      });
    const amends = await database.amends({ sagas: [timed], database: db });
    await amends.start(timed, { cents: 2 }, { id: "o" });
    await settle(amends);
    await expect(amends.cancel("o", { reason: "late" })).rejects.toMatchObject({ code: "CANCEL_REFUSED" });
    clock.jump(7_200_000);
    trouble.on = false;
    await settle(amends);
    expect((await amends.inspect("o"))?.status).toBe("COMPLETED");
    expect(await effects(db)).toEqual(["o"]);
  });

  it("[S-46] what follows the end also follows when a person ends the saga, unless it is what kept it from ending", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const stuck = saga("stuck", Order, { compensateRetry: { attempts: 1 } })
      .step("a", {
        act: () => 1,
        compensate: () => {
          throw new Terminal("RefundsDown");
        },
      })
      .step("b", { act: () => err("no") })
      .onCompleted({ transaction, act: ({ tx, sagaId }) => effect(tx, `${sagaId} completed`) })
      .onFailed({ transaction, act: ({ tx, sagaId, failure }) => effect(tx, `${sagaId} ${failure.label}`) });
    const amends = await database.amends({ sagas: [stuck], database: db });
    for (const id of ["c", "f"]) await amends.start(stuck, { cents: 2 }, { id });
    await settle(amends);
    await amends.resolve("c", "COMPLETED", { reason: "by hand" });
    await amends.resolve("f", "FAILED", { reason: "by hand" });
    await settle(amends);
    const ended = await Promise.all(["c", "f"].map(async (id) => (await amends.inspect(id))?.status));
    expect(ended).toEqual(["COMPLETED", "FAILED"]);
    expect(await effects(db)).toEqual(["c completed", "f no"]);
  });

  it("[S-46] a call goes into the outbox with the end, and with a stall", async () => {
    const log: string[] = [];
    const tell = telling(log);
    const stalls = { on: false };
    const told = saga("told", Order, { compensateRetry: { attempts: 1 } })
      .step("a", {
        act: () => 1,
        compensate: () => {
          if (stalls.on) throw new Terminal("RefundsDown");
        },
      })
      .step("b", { act: ({ input }) => (input.cents % 2 === 1 ? err("odd") : "paid") })
      .onCompleted({ call: tell, input: ({ sagaId, results }) => ({ order: sagaId, what: results.b }) })
      .onFailed({
        call: tell,
        input: async ({ sagaId, failure }) => ({ order: sagaId, what: failure.label }),
      })
      .onStalled({
        call: tell,
        input: ({ sagaId, reason, step }) => ({ order: sagaId, what: `${step}: ${reason}` }),
      });
    const amends = await database.amends({ sagas: [told], calls: [tell], clock: virtualClock() });
    await amends.start(told, { cents: 2 }, { id: "even" });
    await amends.start(told, { cents: 1 }, { id: "odd" });
    await settle(amends);
    stalls.on = true;
    await amends.start(told, { cents: 3 }, { id: "stalls" });
    await settle(amends);
    expect(log.toSorted()).toEqual([
      "even paid",
      "odd odd",
      "stalls a: the undo of step a failed (RefundsDown)",
    ]);
  });

  it("[S-46] an input that throws or does not fit keeps the saga from ending, and stalls it", async () => {
    const tell = telling([]);
    const wrong = saga("wrong", Order)
      .step("a", { act: () => 1 })
      .onCompleted({ call: tell, input: () => ({ order: 7 }) as unknown as { order: string; what: string } });
    const amends = await database.amends({ sagas: [wrong], calls: [tell], clock: virtualClock() });
    await amends.start(wrong, { cents: 2 }, { id: "o" });
    await settle(amends);
    expect(await amends.inspect("o")).toMatchObject({ status: "STALLED", skippable: ["onCompleted"] });
  });

  it("[S-46] a program hears of the ends in its process, until it stops listening, and what it throws changes nothing", async () => {
    const heard: SagaEnd[] = [];
    const both = saga("both", Order).step("a", {
      act: ({ input }) => (input.cents % 2 === 1 ? err("odd") : 1),
    });
    const amends = await database.amends({ sagas: [both], clock: virtualClock() });
    amends.onEnd(() => {
      throw new Error("not listening");
    });
    const stop = amends.onEnd((end) => heard.push(end));
    for (const cents of [1, 2]) await amends.start(both, { cents }, { id: `o-${cents}` });
    await amends.start(both, { cents: 4 }, { id: "cancelled" });
    await amends.cancel("cancelled", { reason: "why" });
    await settle(amends);
    stop();
    await amends.start(both, { cents: 6 }, { id: "unheard" });
    await settle(amends);
    const line = ({ id, status, error }: SagaEnd): string => `${id} ${status} ${error ?? ""}`.trim();
    expect(heard.map(line).toSorted()).toEqual([
      "cancelled FAILED Cancelled",
      "o-1 FAILED odd",
      "o-2 COMPLETED",
    ]);
  });

  it("[S-46][S-36] what follows a reversal commits together with its end, and keeps it from ending while it throws", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const trouble = { on: false };
    const returned = saga("returned", Order, { retry: { attempts: 2, base: "1m" } })
      .step("a", { act: () => 7, compensate: () => undefined })
      .step("b", { act: ({ input }) => (input.cents % 2 === 1 ? err("odd") : "paid") })
      .onReversed({
        transaction,
        act: async ({ tx, sagaId, input, results }) => {
          await effect(tx, `${sagaId} returned ${input.cents} ${results.a} ${results.b}`);
          if (trouble.on) throw new Error("down");
        },
      });
    const amends = await database.amends({ sagas: [returned], database: db });
    for (const [id, cents] of [
      ["o-1", 2],
      ["o-2", 4],
      ["o-3", 6],
      ["o-4", 8],
      ["odd", 1],
    ] as const)
      await amends.start(returned, { cents }, { id });
    await settle(amends);
    const status = async (id: string): Promise<unknown> => (await amends.inspect(id))?.status;
    expect([await status("o-1"), await status("odd"), await effects(db)]).toEqual([
      "COMPLETED",
      "FAILED",
      [],
    ]);
    await amends.reverse("o-1", { reason: "sent back" });
    await settle(amends);
    expect([await status("o-1:reversal"), await effects(db)]).toEqual([
      "COMPLETED",
      ["o-1 returned 2 7 paid"],
    ]);
    trouble.on = true;
    for (const id of ["o-2", "o-3", "o-4"]) await amends.reverse(id, { reason: "sent back" });
    await settle(amends);
    expect(await status("o-2:reversal")).toBe("RUNNING");
    clock.jump(60_001);
    await settle(amends);
    for (const id of ["o-2", "o-3", "o-4"])
      expect(await amends.inspect(`${id}:reversal`)).toMatchObject({
        status: "STALLED",
        skippable: ["onReversed"],
      });
    trouble.on = false;
    await amends.retry("o-2:reversal", { reason: "the table is back" });
    await amends.skip("o-3:reversal", "onReversed", { reason: "written by hand" });
    await amends.resolve("o-4:reversal", "COMPLETED", { reason: "written by hand" });
    await settle(amends);
    for (const id of ["o-2", "o-3", "o-4"]) expect(await status(`${id}:reversal`)).toBe("COMPLETED");
    expect(await effects(db)).toEqual(["o-1 returned 2 7 paid", "o-2 returned 4 7 paid"]);
  });

  it("[S-46][S-36] it also follows where nothing was to be undone, where a person ends the reversal, and for a child", async () => {
    const log: string[] = [];
    const tell = telling(log);
    const trouble = { on: true };
    const told = (name: string) =>
      saga(name, Order, { compensateRetry: { attempts: 1 } })
        .step("a", {
          act: () => 1,
          compensate: ({ input }) => {
            if (trouble.on && input.cents === 3) throw new Error("down");
          },
        })
        .onReversed({ call: tell, input: ({ sagaId }) => ({ order: sagaId, what: "returned" }) });
    const bare = saga("bare", Order)
      .step("a", { act: () => 1 })
      .onReversed({ call: tell, input: ({ sagaId }) => ({ order: sagaId, what: "returned" }) });
    const [ended, child] = [told("order"), told("child")];
    const parent = saga("parent", Order)
      .saga("child", child, { input: ({ input }) => input, id: ({ sagaId }) => `${sagaId}-child` })
      .step("fails", { act: () => err("no") });
    const amends = await database.amends({
      sagas: [ended, child, bare, parent],
      calls: [tell],
      clock: virtualClock(),
    });
    await amends.start(bare, { cents: 1 }, { id: "bare" });
    await amends.start(ended, { cents: 3 }, { id: "ended" });
    await amends.start(parent, { cents: 2 }, { id: "p" });
    await settle(amends);
    expect(log).toEqual(["p-child returned"]);
    await amends.reverse("bare", { reason: "sent back" });
    await amends.reverse("ended", { reason: "sent back" });
    await settle(amends);
    expect((await amends.inspect("ended:reversal"))?.status).toBe("STALLED");
    await amends.resolve("ended:reversal", "COMPLETED", { reason: "undone by hand" });
    await settle(amends);
    expect((await amends.inspect("ended:reversal"))?.status).toBe("COMPLETED");
    expect(log.toSorted()).toEqual(["bare returned", "ended returned", "p-child returned"]);
  });

  it("[S-46][S-36] a reversal has its own end alone: the saga had the others", async () => {
    const log: string[] = [];
    const tell = telling(log);
    const told = saga("told", Order)
      .step("a", { act: () => 1, compensate: () => void log.push("undo") })
      .onCompleted({ call: tell, input: ({ sagaId }) => ({ order: sagaId, what: "completed" }) })
      .onFailed({ call: tell, input: ({ sagaId }) => ({ order: sagaId, what: "failed" }) });
    const amends = await database.amends({ sagas: [told], calls: [tell], clock: virtualClock() });
    await amends.start(told, { cents: 2 }, { id: "o" });
    await settle(amends);
    await amends.reverse("o", { reason: "returned" });
    await settle(amends);
    expect((await amends.inspect("o:reversal"))?.status).toBe("COMPLETED");
    expect(log).toEqual(["o completed", "undo"]);
  });
});

// On SQLite nothing can be written beside an open transaction: a worker is not lost while it has one.
onDatabase("postgres", (database) => {
  checkInvariantsAfterEach(database);

  it("[S-46] a worker that is lost in it leaves no trace, and the next one ends the saga once", async () => {
    const held = gate();
    const make = (who: string) =>
      saga("order", Order)
        .step("a", { act: () => 1 })
        .onCompleted({
          transaction: transactionOn("postgres"),
          act: async ({ tx, sagaId }) => {
            await effect(tx, `${sagaId} by ${who}`);
            if (who === "first") await held.pass();
          },
        });
    const { first, second, lapse } = await pair(
      database,
      { sagas: [make("first")] },
      { sagas: [make("second")] },
    );
    await makeEffects(await database.open());
    await database.worker(first);
    await first.start(make("first"), { cents: 2 }, { id: "o" });
    await held.reached;
    lapse();
    await settle(second);
    expect((await second.inspect("o"))?.status).toBe("COMPLETED");
    held.open();
    await expect.poll(() => first.counters.lost).toBe(1);
    expect(await effects(await database.open())).toEqual(["o by second"]);
  });
});
