import { err, saga, Terminal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-22] a step after the pivot is tried again for as long as it takes, past every budget", async () => {
    const clock = virtualClock();
    const undone: string[] = [];
    const order = saga("order", nothing, { retry: { attempts: 2, base: "10s", factor: 1 } })
      .step("charge", { act: () => 1, compensate: () => void undone.push("charge") })
      .pivot("ship", { act: () => 2 })
      .step("email", {
        act: ({ attempt }) => {
          if (attempt < 20) throw new Error("busy");
          return attempt;
        },
      });
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, {});
    for (let attempt = 1; attempt <= 20; attempt++) {
      expect(await amends.worker().runOnce()).toBe(1);
      clock.jump(10_000);
    }
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { email: 20 } });
    expect(undone).toEqual([]);
  });

  it.each(["err", "Terminal"])(
    "[S-22] a step after the pivot that can never succeed (%s) waits for a person: nothing is undone",
    async (how) => {
      const undone: string[] = [];
      const mail = { works: false };
      const order = saga("order", nothing)
        .step("charge", { act: () => 1, compensate: () => void undone.push("charge") })
        .pivot("ship", { act: () => 2 })
        .step("email", {
          act: () => {
            if (mail.works) return "sent";
            if (how === "err") return err("no-address");
            throw new Terminal("no-address");
          },
        })
        .step("archive", { act: () => "archived" });
      const amends = await database.amends({ sagas: [order] });
      const start = async (): Promise<string> => {
        const { id } = await amends.start(order, {});
        await amends.worker().runOnce();
        return id;
      };
      const [retried, skipped, resolved] = [await start(), await start(), await start()];
      expect(await (await amends.get(retried)).result()).toMatchObject({
        status: "STALLED",
        step: "email",
        reason: "step email failed (no-address) where the saga can only go forward",
      });
      expect((await amends.inspect(retried))?.actions).toEqual(["retry", "skip", "resolve"]);

      await amends.skip(skipped, "email", { reason: "told them by phone" });
      await amends.worker().runOnce();
      expect(await (await amends.get(skipped)).result()).toMatchObject({
        status: "COMPLETED",
        results: { ship: 2, archive: "archived" },
      });

      mail.works = true;
      await amends.retry(retried, { reason: "address found" });
      await amends.worker().runOnce();
      expect(await (await amends.get(retried)).result()).toMatchObject({
        status: "COMPLETED",
        results: { email: "sent", archive: "archived" },
      });

      await amends.resolve(resolved, "COMPLETED", { reason: "good enough" });
      expect(await (await amends.get(resolved)).status()).toBe("COMPLETED");
      expect(undone).toEqual([]);
    },
  );

  it("[S-22] a pivot that answers with err has not happened: the saga turns back", async () => {
    const undone: string[] = [];
    const order = saga("order", nothing)
      .step("charge", { act: () => 1, compensate: () => void undone.push("charge") })
      .pivot("ship", { act: () => err("no-stock") })
      .step("email", { act: () => 3 });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {});
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "ship",
      error: { value: "no-stock" },
    });
    expect(undone).toEqual(["charge"]);
  });

  it("[S-22] a pivot in doubt is neither undone nor passed: a person decides", async () => {
    const undone: string[] = [];
    const order = saga("order", nothing, { retry: { attempts: 1 } })
      .step("charge", { act: () => 1, compensate: () => void undone.push("charge") })
      .pivot("ship", { act: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("reset")) : attempt) })
      .step("email", { act: () => 3 });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {});
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({
      status: "STALLED",
      step: "ship",
      error: { kind: "exhausted", label: "Error" },
    });
    expect(undone).toEqual([]);
    await amends.retry(run.id, { reason: "the carrier says it never got it" });
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { ship: 2, email: 3 } });
  });

  it("[S-22] a pivot with an undo of its own can be in doubt and still be taken back", async () => {
    const undone: string[] = [];
    const order = saga("order", nothing, { retry: { attempts: 1 } })
      .step("charge", { act: () => 1, compensate: () => void undone.push("charge") })
      .pivot("ship", {
        act: () => Promise.reject(new Error("reset")),
        compensate: ({ result, actKey }) => void undone.push(`ship ${String(result)} ${actKey}`),
      })
      .step("email", { act: () => 3 });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "ship" });
    expect(undone).toEqual(["ship undefined o-1:ship:act", "charge"]);
  });

  it("[S-22] a deadline that passes while the pivot is being called turns nothing back", async () => {
    const clock = virtualClock();
    const undone: string[] = [];
    // It could be taken back, and may have happened: it is tried again, past the deadline.
    const order = saga("order", nothing, { deadline: "1m" }).pivot("ship", {
      retry: { base: "2m" },
      act: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("busy")) : attempt),
      compensate: () => void undone.push("ship"),
    });
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, {});
    await amends.worker().runOnce();
    clock.jump(60_000);
    await amends.worker().runOnce();
    clock.jump(60_000);
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { ship: 2 } });
    expect(undone).toEqual([]);
  });

  it("[S-22] after a crash past the pivot the saga goes forward", async () => {
    const undone: string[] = [];
    const held = gate();
    const order = saga("order", nothing)
      .step("charge", { act: () => 1, compensate: () => void undone.push("charge") })
      .pivot("ship", { act: () => 2, compensate: () => void undone.push("ship") })
      .step("email", { act: ({ attempt }) => (attempt === 1 ? held.pass() : undefined) });
    const { first, second, lapse } = await pair(database, { sagas: [order] });
    const run = await first.start(order, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.worker().runOnce();
    expect(await (await second.get(run.id)).result()).toMatchObject({
      status: "COMPLETED",
      results: { charge: 1, ship: 2 },
    });
    held.open();
    await lost;
    expect(undone).toEqual([]);
  });
});
