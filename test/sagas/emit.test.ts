import { err, saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { transactionOn } from "./support/effects-table.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";
import { watched } from "./support/watched.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-28] what a step emits is in the outbox once the step is done, in the order in which it was emitted", async () => {
    const look = await onlooker(database);
    const order = saga("order", nothing)
      .step("one", {
        act: ({ emit }) => {
          emit({ type: "order.placed", data: { id: 7 } });
          emit({ type: "order.noted" });
        },
      })
      .step("two", { act: async ({ emit }) => (emit({ type: "order.paid", data: "é" }), look.events()) });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    const first = ['order.placed {"id":7}', "order.noted null"];
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { two: first } });
    expect(await look.events()).toEqual([...first, 'order.paid "é"']);
  });

  it("[S-28] events and checkpoint are one commit: before it neither is there", async () => {
    const { database: db, holdNext } = watched(await database.open());
    const look = await onlooker(database);
    const begun = gate();
    const order = saga("order", nothing).step("one", {
      act: async ({ emit }) => {
        emit({ type: "order.placed" });
        await begun.pass();
      },
    });
    const amends = await database.amends({ database: db, sagas: [order] });
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(order, {});
    await begun.reached;
    const commit = holdNext();
    begun.open();
    await commit.reached;
    expect([await look.events(), await look.history(run.id)]).toEqual([[], ["one act STARTED"]]);
    commit.open();
    await run.result();
    expect(await look.events()).toEqual(["order.placed null"]);
  });

  it("[S-28] a try that throws emits nothing; the one that succeeds emits once", async () => {
    const look = await onlooker(database);
    const order = saga("order", nothing, { retry: { base: "1ms" } }).step("one", {
      act: ({ emit, attempt }) => {
        emit({ type: "tried", data: attempt });
        if (attempt < 3) throw new Error("busy");
      },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, {})).result();
    expect(await look.events()).toEqual(["tried 3"]);
  });

  it("[S-28] an undo's events go out with the undo, and an err's with the err", async () => {
    const look = await onlooker(database);
    const order = saga("order", nothing)
      .step("one", { act: () => 1, compensate: ({ emit }) => emit({ type: "released" }) })
      .step("two", { act: ({ emit }) => (emit({ type: "declined" }), err("no")) });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, {})).result();
    expect(await look.events()).toEqual(["declined null", "released null"]);
  });

  it("[S-28] in recovery too, and a worker that lost its saga emits nothing", async () => {
    const look = await onlooker(database);
    const held = gate();
    const order = saga("order", nothing).step("one", {
      act: async ({ emit, attempt }) => {
        emit({ type: "placed", data: attempt });
        if (attempt === 1) await held.pass();
      },
    });
    const { first, second, lapse } = await pair(database, { sagas: [order] });
    await first.start(order, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.worker().runOnce();
    expect(await look.events()).toEqual(["placed 2"]);
    held.open();
    await lost;
    expect(await look.events()).toEqual(["placed 2"]);
  });

  it("[S-28] a transactional step's events commit with its transaction", async () => {
    const look = await onlooker(database);
    const order = saga("order", nothing, { retry: { base: "1ms" } }).step("one", {
      transaction: transactionOn(database.name),
      act: ({ emit, attempt }) => {
        emit({ type: "placed", data: attempt });
        if (attempt === 1) throw new Error("busy");
      },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "COMPLETED" });
    expect(await look.events()).toEqual(["placed 2"]);
  });

  it("[S-28] an event that cannot be stored is refused where it is emitted, and nothing of it goes out", async () => {
    const look = await onlooker(database);
    const order = saga("order", z.object({ event: z.any() })).step("one", {
      act: ({ emit, input }) => {
        emit({ type: "fine" });
        emit(input.event === "cycle" ? { type: "bad", data: 1n } : { type: "not a name" });
      },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    for (const [event, label] of [
      ["cycle", "BAD_JSON"],
      ["name", "BAD_DEFINITION"],
    ]) {
      expect(await (await amends.start(order, { event })).result()).toMatchObject({
        status: "FAILED",
        error: { kind: "terminal", label },
      });
    }
    expect(await look.events()).toEqual([]);
  });
});
