/** The test kit runs an application's own parts on virtual time: until idle, with failures, crashes and deliveries twice. */
import { Amends } from "amends";
import { sqlite, type SqliteHandle } from "amends/sqlite";
import { testKit, type TestKit } from "amends/testing";
import { afterEach, describe, expect, it } from "vitest";
import { order, Placed as OrderPlaced } from "../events/support/order.ts";
import { HOOK, KitShop, Placed } from "./support/kit-shop.ts";

const DAY = 86_400_000;

const kits: TestKit<"name">[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.close();
});

async function open(shop: KitShop): Promise<{ kit: TestKit<"name">; handle: SqliteHandle }> {
  const opened = await shop.kit();
  kits.push(opened.kit);
  return opened;
}

/** One piece of work for each part. */
async function begin(shop: KitShop, kit: TestKit<"name">, handle: SqliteHandle, to: string) {
  const { amends } = kit;
  const run = await amends.start(shop.order, { to });
  const [flow] = await amends.events.publish(Placed({ orderId: "o-1" }));
  for (const one of ["ann", "bob"]) await amends.calls.enqueue(shop.mail, { to: one });
  await amends.webhooks.subscribe({ url: HOOK, events: ["order.placed"] });
  await amends.webhooks.publish({ type: "order.placed", data: { id: "o-1" } });
  shop.crm.put("c-1");
  handle.exec("begin");
  await amends.erasure.eraseSubject("u-1", [{ kind: "crm", value: "c-1" }], { tx: handle });
  handle.exec("commit");
  return { run: run.id, flow: flow?.id ?? "" };
}

describe("sqlite", () => {
  it("[T-01] run until idle: sagas, handlers, calls, resolvers and webhooks end, and virtual time moves to what is due", async () => {
    const shop = new KitShop();
    const { kit, handle } = await open(shop);
    const beganMs = kit.clock.virtualNowMs();
    const { run, flow } = await begin(shop, kit, handle, "ann");
    kit.fail("mail");
    expect(await kit.runUntilIdle()).toBeGreaterThan(5);
    expect((await kit.amends.events.inspect(flow))?.status).toBe("completed");
    expect(shop.received).toHaveLength(1);
    const made = kit.calls.map(({ part, name, attempt }) => `${part} ${name} ${attempt}`);
    for (const call of ["handler reserveStock 1", "call mail 2", "resolver crm 1", "webhook order.placed 1"])
      expect(made).toContain(call);
    // Three days are more than the hour that time may move.
    expect((await kit.amends.inspect(run))?.status).toBe("RUNNING");
    expect(kit.clock.virtualNowMs() - beganMs).toBeLessThan(DAY);
    await kit.runUntilIdle({ within: "4d" });
    expect((await kit.amends.inspect(run))?.status).toBe("COMPLETED");
    expect(kit.clock.virtualNowMs() - beganMs).toBe(3 * DAY);
    expect(await kit.runUntilIdle({ within: "30d" })).toBe(0);
    kit.refuseUnmet();
  });

  it("[T-01] fail this call: the next ones throw instead of being made, and are tried again or compensated", async () => {
    const shop = new KitShop();
    const { kit, handle } = await open(shop);
    for (const call of ["reserveStock", "mail", "crm", "order.placed"]) kit.fail(call, { times: 2 });
    kit.fail("charge", { times: 8 });
    const { run, flow } = await begin(shop, kit, handle, "ann");
    await kit.runUntilIdle({ within: "1d" });
    expect((await kit.amends.events.inspect(flow))?.status).toBe("completed");
    expect((await kit.amends.inspect(run))?.status).toBe("FAILED");
    expect(shop.undone).toEqual(["charge", "reserve"]);
    expect([...shop.effects.keys()].some((effect) => effect.startsWith("charge"))).toBe(false);
    expect(shop.received).toHaveLength(1);
    const attempts = (name: string) => kit.calls.filter((call) => call.name === name).length;
    // The resolver can verify, and is asked to after its success.
    expect(["reserveStock", "crm", "order.placed"].map(attempts)).toEqual([3, 4, 3]);
    kit.refuseUnmet();
  });

  it("[T-01] crash here: the process dies before or after a call, and another one takes over", async () => {
    const shop = new KitShop();
    const { kit, handle } = await open(shop);
    const first = kit.amends;
    kit.crash("charge", "before");
    kit.crash("reserveStock");
    kit.crash("undo charge");
    const { run, flow } = await begin(shop, kit, handle, "ann");
    await kit.runUntilIdle({ within: "4d" });
    expect(kit.amends).not.toBe(first);
    expect((await kit.amends.inspect(run))?.status).toBe("COMPLETED");
    expect((await kit.amends.events.inspect(flow))?.status).toBe("completed");
    const count = (name: string): number => kit.calls.filter((call) => call.name === name).length;
    expect(count("charge")).toBe(1);
    // Once more for each process that died with it.
    expect(count("reserveStock")).toBeGreaterThanOrEqual(2);
    expect([...shop.effects].filter(([what]) => what.startsWith("reserveStock"))).toHaveLength(1);
    expect(() => kit.refuseUnmet()).toThrow("These calls were not made: undo charge.");
  });

  it("[T-01] deliver twice: a step, a handler, a call, a resolver and a webhook each get everything twice, under one key", async () => {
    const shop = new KitShop();
    const { kit, handle } = await open(shop);
    for (const name of ["reserve", "reserveStock", "mail", "crm", "order.placed"]) kit.deliverTwice(name);
    const { run, flow } = await begin(shop, kit, handle, "nobody");
    await kit.runUntilIdle({ within: "1d" });
    expect((await kit.amends.inspect(run))?.status).toBe("FAILED");
    expect((await kit.amends.events.inspect(flow))?.status).toBe("completed");
    const counts = [...shop.effects].filter(([what]) => !what.startsWith("charge"));
    expect(counts.map(([what]) => String(what.split(" ")[0])).toSorted()).toEqual([
      "mail",
      "mail",
      "reserve",
      "reserveStock",
    ]);
    expect(counts.map(([, count]) => count)).toEqual([2, 2, 2, 2]);
    expect(shop.received).toHaveLength(2);
    expect(new Set(shop.received).size).toBe(1);
    const erased = kit.calls.filter(({ part }) => part === "resolver");
    // Twice to erase, then once to verify.
    expect(erased).toHaveLength(3);
    expect(new Set(erased.map(({ key }) => key)).size).toBe(1);
  });

  it("[F-24][T-01] a saga that branches and fans in survives failures, a crash and deliveries twice, and ships once", async () => {
    const shop = order();
    const kit = await testKit((database) => new Amends({ database, events: [shop.saga, ...shop.undoers] }));
    kits.push(kit);
    kit.fail("pay");
    kit.crash("pack");
    kit.deliverTwice("ship");
    const [run] = await kit.amends.events.publish(OrderPlaced({ orderId: "o-1" }));
    await kit.runUntilIdle({ within: "1d" });
    expect(await kit.amends.events.inspect(run?.id ?? "")).toMatchObject({
      status: "completed",
      notTaken: ["refuse"],
    });
    expect(shop.calls.filter((call) => call.startsWith("ship"))).toEqual(
      Array(2).fill("ship Paid 100 Packed 2"),
    );
    const ships = kit.calls.filter(({ name }) => name === "ship");
    expect(new Set(ships.map(({ key }) => key)).size).toBe(1);
    kit.refuseUnmet();
  });

  it("[T-01] the kit refuses a database whose clock is not virtual, and calls without a name", async () => {
    const shop = new KitShop();
    const real = sqlite(":memory:");
    const refused = testKit((database) => shop.make(database), { database: real });
    await expect(refused).rejects.toThrow("needs a virtual clock");
    const kit = await testKit((database) => shop.make(database));
    kits.push(kit);
    expect(() => kit.fail("")).toThrow("needs the name of a call");
    expect(() => kit.fail("charge", { times: 0 })).toThrow("`times` must be");
  });
});
