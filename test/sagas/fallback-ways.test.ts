/** Fallbacks beside everything else that may happen to a saga: cancels, deadlines, pivots, new definitions. */
import { err, saga } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { busy, once } from "./support/busy.ts";
import { calls } from "./support/calls.ts";
import { collect } from "./support/collect.ts";
import { forEver, gate } from "./support/gate.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-20][S-23] a saga that is cancelled while a step gives way to its fallback turns back", async () => {
    const { made, middleware } = calls();
    const held = gate();
    const stopped: boolean[] = [];
    const order = saga("order", nothing, { retry: once })
      .step("reserve", { act: () => 1, compensate: () => undefined })
      .step("charge", {
        act: busy,
        compensate: async ({ signal }) => {
          await held.pass();
          stopped.push(signal.aborted);
        },
        fallback: { name: "invoice", act: () => 1, compensate: () => undefined },
      });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await held.reached;
    await run.cancel({ reason: "she changed her mind" });
    held.open();
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(made).toEqual(["act reserve", "act charge", "undo charge", "undo reserve"]);
    // The undo is what was asked for: it is not told to stop.
    expect(stopped).toEqual([false]);
  });

  it("[S-20][S-21] a deadline turns the saga back, as it would without a fallback, and stops no undo", async () => {
    const clock = virtualClock();
    const { made, middleware } = calls();
    const inAct = gate();
    const one = saga("one", nothing).step("charge", {
      deadline: "10s",
      act: ({ signal }) => {
        void inAct.pass();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stop"))));
      },
      compensate: () => undefined,
      fallback: { name: "invoice", act: () => 1 },
    });
    const inUndo = gate();
    const stopped: boolean[] = [];
    const whole = saga("whole", nothing, { deadline: "10s", retry: once }).step("charge", {
      act: busy,
      compensate: async ({ signal }) => {
        await inUndo.pass();
        stopped.push(signal.aborted);
      },
      fallback: { name: "invoice", act: () => 1 },
    });
    const amends = await database.amends({ sagas: [one, whole], middleware, clock });
    const first = await amends.start(one, {});
    const firstWork = amends.worker().runOnce();
    await inAct.reached;
    await clock.advance(10_000);
    await firstWork;
    expect(await first.result()).toMatchObject({ status: "FAILED", error: { kind: "deadline" } });
    expect(made).toEqual(["act charge", "undo charge"]);
    const second = await amends.start(whole, {});
    const secondWork = amends.worker().runOnce();
    await inUndo.reached;
    await clock.advance(10_000);
    inUndo.open();
    await secondWork;
    expect(await second.result()).toMatchObject({ status: "FAILED", error: { kind: "deadline" } });
    expect(made.slice(2)).toEqual(["act charge", "undo charge"]);
    expect(stopped).toEqual([false]);
  });

  it("[S-20][S-22] a pivot gives way to its fallback, and what may have happened is undone first", async () => {
    const { made, middleware } = calls();
    const order = saga("order", nothing, { retry: once })
      .step("charge", { act: () => 1, compensate: () => undefined })
      .pivot("ship", {
        act: busy,
        compensate: () => undefined,
        fallback: { name: "fly", act: () => "by air" },
      })
      .step("mail", { act: ({ results }) => results.ship });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({
      status: "COMPLETED",
      results: { mail: "by air" },
    });
    expect(made).toEqual(["act charge", "act ship", "undo ship", "act fly", "act mail"]);
  });

  it("[S-20][S-22] a pivot that may have happened and has no undo keeps its place: a person decides", async () => {
    const { made, middleware } = calls();
    const order = saga("order", nothing, { retry: once }).pivot("ship", {
      act: busy,
      fallback: { name: "fly", act: () => "by air" },
    });
    const refused = saga("refused", nothing)
      .step("charge", { act: () => 1, compensate: () => undefined })
      .pivot("ship", {
        act: () => err("full"),
        fallback: { name: "fly", when: ["full"], act: () => err("full") },
      });
    const inDoubt = saga("in-doubt", nothing, { retry: once }).pivot("ship", {
      act: () => err("full"),
      fallback: { name: "fly", when: ["full"], act: busy },
    });
    const amends = await database.amends({ sagas: [order, refused, inDoubt], middleware });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({
      status: "STALLED",
      step: "ship",
    });
    expect(made).toEqual(["act ship"]);
    // Both have said no: nothing has happened, and the saga can still turn back.
    expect(await (await amends.start(refused, {})).result()).toMatchObject({ status: "FAILED", step: "fly" });
    expect(made.slice(1)).toEqual(["act charge", "act ship", "act fly", "undo charge"]);
    // As with any pivot that may have happened, a person can say by hand that it did not, and not that it did.
    const doubtful = await amends.start(inDoubt, {});
    expect(await doubtful.result()).toMatchObject({ status: "STALLED", step: "fly" });
    expect(await amends.inspect(doubtful.id)).toMatchObject({
      actions: ["retry", "resolve", "cancel"],
      skippable: [],
    });
  });

  it("[S-20][S-22] after the pivot a step that may have happened keeps trying; one that was refused gives way", async () => {
    const { made, middleware } = calls();
    const mail = { attempts: 1, base: 1, cap: 1 };
    const order = saga("order", nothing, { retry: mail })
      .pivot("ship", { act: () => 1 })
      .step("mail", {
        act: ({ attempt }) => (attempt < 3 ? busy() : "mailed"),
        fallback: { name: "letter", act: () => "sent" },
      })
      .step("archive", {
        act: () => err("full"),
        fallback: {
          name: "print",
          when: ["full"],
          act: ({ attempt }) => (attempt < 3 ? busy() : err("no-paper")),
        },
      });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    const run = await amends.start(order, {});
    expect(await run.result()).toMatchObject({ status: "STALLED", step: "print" });
    expect(made).toEqual([
      "act ship",
      "act mail",
      "act mail",
      "act mail",
      "act archive",
      "act print",
      "act print",
      "act print",
    ]);
    expect((await amends.inspect(run.id))?.skippable).toEqual(["print"]);
    await amends.skip(run.id, "print", { reason: "printed by hand", result: "paper" });
    expect(await run.result()).toMatchObject({
      status: "COMPLETED",
      results: { mail: "mailed", archive: "paper" },
    });
  });

  it("[S-20][S-30] a saga keeps the fallback that it began with, and one that began without gets none", async () => {
    const held = gate();
    const without = saga("order", nothing, { retry: once })
      .step("one", { act: () => 1 })
      .step("charge", { act: () => (void held.pass(), forEver()) });
    const fallback = { name: "invoice", act: () => 1 } as const;
    const withOne = saga("order", nothing, { retry: once })
      .step("one", { act: () => 1 })
      .step("charge", { act: busy, fallback: { ...fallback, breaker: { threshold: 1 } } });
    const gained = await pair(database, { sagas: [without] }, { sagas: [withOne] });
    const { id } = await gained.first.start(without, {});
    void gained.first.worker().runOnce();
    await held.reached;
    gained.lapse();
    await gained.second.worker().runOnce();
    expect(await (await gained.second.get(id)).result()).toMatchObject({ status: "FAILED", step: "charge" });

    const inInvoice = gate();
    const began = saga("bill", nothing, { retry: once }).step("charge", {
      act: busy,
      fallback: { name: "invoice", act: () => (void inInvoice.pass(), forEver()) },
    });
    const later = saga("bill", nothing)
      .step("charge", { act: () => 1 })
      .step("invoice", { act: () => 1 });
    const lost = await pair(database, { sagas: [began] }, { sagas: [later] });
    const run = await lost.first.start(began, {});
    void lost.first.worker().runOnce();
    await inInvoice.reached;
    lost.secondClock.jump(601_000);
    await lost.second.worker().runOnce();
    expect(await run.status()).toBe("RUNNING");
    expect((await lost.second.attention.list({ kind: "unserved-kind" })).items[0]?.reason).toContain(
      ": step invoice is no longer the fallback of charge.",
    );
  });

  it("[S-20][S-08] a reader of the stream sees which branch ran, and what made the other give way", async () => {
    const order = saga("order", nothing, { retry: once }).step("charge", {
      act: busy,
      fallback: { name: "invoice", act: () => "later" },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    expect(await collect(run.stream())).toEqual([
      {
        name: "charge",
        action: "act",
        status: "FAILED",
        error: { kind: "exhausted", label: "Error" },
        fallback: "invoice",
      },
      { name: "invoice", action: "act", status: "COMPLETED", result: "later" },
    ]);
  });
});
