import { AmendsError, saga, type Amends } from "amends";
import { defineCall } from "amends/calls";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { dueAges } from "../../src/operate/health/backlog.ts";
import { onEachDatabase } from "../support/databases.ts";
import { gate } from "./support/gate.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";

const nothing = z.object({});
const why = { reason: "the bank is down", by: "ann" };
const back = { reason: "the bank is back", by: "bob" };

const code = (error: unknown): unknown => (error instanceof AmendsError ? error.code : error);

/** A saga of one name that writes its id into a log. */
function named(name: string, log: string[]) {
  return saga(name, nothing).step("ship", { act: ({ sagaId }) => void log.push(sagaId) });
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-44] sagas of a paused name are accepted, and no worker claims them until it is resumed", async () => {
    const log: string[] = [];
    const [order, other] = [named("order", log), named("other", log)];
    const sagas = [order, other];
    const [here, there] = [await database.amends({ sagas }), await database.amends({ sagas })];
    expect(await there.pause({ saga: order }, why)).toMatchObject({
      kind: "saga",
      id: undefined,
      name: "order",
      ...why,
    });
    for (const amends of [here, there])
      for (const kind of sagas)
        await amends.start(kind, {}, { id: `${kind.name}-${amends === here ? 1 : 2}` });
    while ((await here.worker().runOnce()) + (await there.worker().runOnce()) > 0);
    expect(log.toSorted()).toEqual(["other-1", "other-2"]);
    expect(await here.inspect("order-1")).toMatchObject({
      status: "PENDING",
      paused: { kind: "saga", ...why },
    });
    expect(await there.resume({ saga: "order" }, back)).toBe(true);
    while ((await here.worker().runOnce()) + (await there.worker().runOnce()) > 0);
    expect(log.toSorted()).toEqual(["order-1", "order-2", "other-1", "other-2"]);
    expect((await here.inspect("order-1"))?.paused).toBeUndefined();
  });

  it("[S-44] a worker that has only the paused name claims nothing", async () => {
    const log: string[] = [];
    const order = named("order", log);
    const amends = await database.amends({ sagas: [order] });
    await amends.start(order, {});
    await amends.pause({ saga: "order" }, why);
    expect(await amends.worker().runOnce()).toBe(0);
    await amends.resume({ saga: "order" }, back);
    expect(await amends.worker().runOnce()).toBe(1);
  });

  it("[S-44] a name that one process paused and another one resumed runs in the first one, too, without a look", async () => {
    const log: string[] = [];
    const order = saga("order", nothing)
      .step("charge", { act: () => void log.push("charge"), compensate: () => undefined })
      .step("ship", { act: () => void log.push("ship") });
    const here = await database.amends({ sagas: [order] });
    const there = await database.amends({});
    await here.start(order, {}, { id: "o" });
    await here.pause({ saga: "order" }, why);
    await there.resume({ saga: "order" }, back);
    expect(await here.worker().runOnce()).toBe(1);
    expect(await here.inspect("o")).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["charge", "ship"]);
  });

  it("[S-44] sagas of a paused name that have limits by key wait, and take no place from others", async () => {
    const log: string[] = [];
    const limited = (name: string) =>
      saga(name, z.object({ of: z.string() }), { concurrency: { key: ({ of }) => of, limit: 1 } }).step(
        "ship",
        {
          act: ({ sagaId }) => void log.push(sagaId),
        },
      );
    const [order, other] = [limited("order"), limited("other")];
    const amends = await database.amends({ sagas: [order, other] });
    for (let n = 0; n < 3; n++) {
      await amends.start(order, { of: `k${n}` }, { id: `order-${n}` });
      await amends.start(other, { of: `k${n}` }, { id: `other-${n}` });
    }
    await amends.pause({ saga: "order" }, why);
    await amends.pause({ id: "other-0" }, why);
    while ((await amends.worker().runOnce()) > 0);
    expect(log.toSorted()).toEqual(["other-1", "other-2"]);
    await amends.resume({ saga: "order" }, back);
    await amends.resume({ id: "other-0" }, back);
    while ((await amends.worker().runOnce()) > 0);
    expect(log.length).toBe(6);
  });

  it("[S-44] a saga that runs when its name is paused finishes its step and is given back, in every process", async () => {
    const log: string[] = [];
    const doors = new Map([
      ["o-1", gate()],
      ["o-2", gate()],
    ]);
    const order = saga("order", nothing)
      .step("charge", {
        act: async ({ sagaId }) => {
          log.push(`charge ${sagaId}`);
          await doors.get(sagaId)?.pass();
          return sagaId;
        },
        compensate: () => undefined,
      })
      .step("ship", { act: ({ sagaId }) => void log.push(`ship ${sagaId}`) });
    const [here, there] = [
      await database.amends({ sagas: [order] }),
      await database.amends({ sagas: [order] }),
    ];
    await database.worker(here, { poll: "50ms" });
    await database.worker(there, { poll: "50ms" });
    const runs = [await here.start(order, {}, { id: "o-1" }), await there.start(order, {}, { id: "o-2" })];
    for (const door of doors.values()) await door.reached;
    await here.pause({ saga: "order" }, why);
    // The other process hears of it with its next look: it then records its own starts without running them.
    const heard = async (): Promise<string | undefined> => {
      const { id } = await there.start(order, {});
      return (await there.inspect(id))?.status;
    };
    await expect.poll(heard).toBe("PENDING");
    log.length = 0;
    for (const door of doors.values()) door.open();
    for (const id of doors.keys())
      await expect.poll(async () => (await here.inspect(id))?.owner).toBeUndefined();
    expect(log).toEqual([]);
    for (const id of doors.keys())
      expect(await there.inspect(id)).toMatchObject({
        status: "RUNNING",
        results: { charge: id },
        paused: { kind: "saga" },
      });
    await there.resume({ saga: "order" }, back);
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-44] a paused name holds its own sagas only: its children go on", async () => {
    const log: string[] = [];
    const door = gate();
    const child = saga("child", nothing).step("ship", {
      act: async () => {
        await door.pass();
        log.push("child");
      },
      compensate: () => undefined,
    });
    const parent = saga("parent", nothing)
      .saga("part", child, { input: () => ({}) })
      .step("end", { act: () => void log.push("parent") });
    const amends = await database.amends({ sagas: [parent, child] });
    await database.worker(amends);
    const run = await amends.start(parent, {}, { id: "p" });
    await door.reached;
    await amends.pause({ saga: parent }, why);
    door.open();
    await expect.poll(() => log).toEqual(["child"]);
    await expect.poll(async () => (await amends.count({ saga: child, status: "COMPLETED" })).value).toBe(1);
    await amends.resume({ saga: parent }, back);
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["child", "parent"]);
  });

  it("[S-44] calls of a paused name are enqueued and wait, and a call that runs finishes", async () => {
    const made: string[] = [];
    const door = gate();
    const call = (name: string) =>
      defineCall(name, {
        schema: z.object({ to: z.string() }),
        handle: async ({ to }) => {
          made.push(`${name} ${to}`);
          if (to === "held") await door.pass();
        },
      });
    const [mail, text] = [call("mail"), call("text")];
    const amends = await database.amends({ calls: [mail, text] });
    await amends.calls.enqueue(mail, { to: "held" });
    const running = amends.calls.runOnce();
    await door.reached;
    expect(await amends.pause({ call: mail }, why)).toMatchObject({ kind: "call", name: "mail", ...why });
    await amends.calls.enqueue(mail, { to: "ada" });
    await amends.calls.enqueue(text, { to: "ada" });
    door.open();
    expect(await running).toBe(1);
    while ((await amends.calls.runOnce()) > 0);
    expect(made).toEqual(["mail held", "text ada"]);
    // Alone, too: the claim of one name has a form of its own.
    const alone = await database.amends({ calls: [mail] });
    expect(await alone.calls.runOnce()).toBe(0);
    const worker = await database.worker(alone, { poll: "1h" });
    expect(await alone.resume({ call: "mail" }, back)).toBe(true);
    await expect.poll(() => made).toContain("mail ada");
    await worker.stop();
  });

  it("[S-44] what is paused is no work that waits for a worker", async () => {
    const clock = virtualClock();
    const mail = defineCall("mail", { schema: nothing, handle: () => undefined });
    const [order, other] = [named("order", []), named("other", [])];
    const amends = await database.amends({ sagas: [order, other], calls: [mail], clock });
    await amends.start(order, {}, { id: "o" });
    await amends.start(other, {}, { id: "single" });
    await amends.calls.enqueue(mail, {});
    const db = await database.open({ clock });
    const waits = async (): Promise<readonly number[]> => {
      const { sagas, outbox } = await dueAges(db);
      return [sagas, outbox];
    };
    await clock.advance(60_000);
    expect(await waits()).toEqual([60_000, 60_000]);
    await amends.pause({ saga: "order" }, why);
    await amends.pause({ id: "single" }, why);
    await amends.pause({ call: "mail" }, why);
    expect(await waits()).toEqual([0, 0]);
  });

  it("[S-44] what is paused is listed: names, and page by page the sagas", async () => {
    const order = named("order", []);
    const amends = await database.amends({ sagas: [order] });
    for (const id of ["a", "b", "c"]) {
      await amends.start(order, {}, { id });
      await amends.pause({ id }, why);
    }
    await amends.pause({ call: "mail" }, why);
    await amends.pause({ saga: "order" }, back);
    expect(await amends.pause({ saga: "order" }, why)).toMatchObject(back);
    const first = await amends.paused({ limit: 2 });
    expect(first.items.map(({ kind, id, name, reason }) => [kind, id, name, reason])).toEqual([
      ["call", undefined, "mail", why.reason],
      ["saga", undefined, "order", back.reason],
      ["id", "a", "order", why.reason],
      ["id", "b", "order", why.reason],
    ]);
    const second = await amends.paused({ limit: 2, after: first.next as string });
    expect(second).toMatchObject({ items: [{ kind: "id", id: "c", ...why }], next: undefined });
    expect(await amends.resume({ call: "mail" }, back)).toBe(true);
    expect(await amends.resume({ call: "mail" }, back)).toBe(false);
    expect((await amends.list({ saga: order })).items.map(({ id, isPaused }) => [id, isPaused])).toEqual(
      expect.arrayContaining([["a", true]]),
    );
  });

  it("[S-44] a pause needs one target that it understands, a saga that exists, and a reason", async () => {
    const amends: Amends = await database.amends({});
    const refused = async (target: object, note: object = why): Promise<unknown> =>
      amends.pause(target as { id: string }, note as { reason: string }).catch(code);
    expect(await refused({})).toBe("BAD_OPTION");
    expect(await refused({ name: "order" })).toBe("BAD_OPTION");
    expect(await refused({ id: "a", saga: "order" })).toBe("BAD_OPTION");
    expect(await refused({ saga: "no name" })).toBe("BAD_OPTION");
    expect(await refused({ call: 7 })).toBe("BAD_OPTION");
    expect(await refused({ id: "a" })).toBe("SAGA_NOT_FOUND");
    expect(await refused({ saga: "order" }, {})).toBe("BAD_OPTION");
    expect(await refused({ saga: "order" }, { ...why, until: "noon" })).toBe("BAD_OPTION");
    expect(await amends.resume({ id: "a" }, why).catch(code)).toBe("SAGA_NOT_FOUND");
    expect(await amends.paused({ limit: 0 }).catch(code)).toBe("BAD_OPTION");
    expect((await amends.paused()).items).toEqual([]);
  });
});
