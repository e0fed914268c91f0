import { AmendsError, saga, signal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { forEver, gate } from "./support/gate.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";
import { throughRenewals } from "./support/renewals.ts";
import { watchedClock } from "../support/watched-clock.ts";

const nothing = z.object({});
const why = { reason: "the bank is down", by: "ann" };
const back = { reason: "the bank is back", by: "bob" };
const approved = signal("approved", z.object({}));

const code = (error: unknown): unknown => (error instanceof AmendsError ? error.code : error);

/** Two steps, of which the first is held. */
function held() {
  const log: string[] = [];
  const door = gate();
  const order = saga("order", nothing)
    .step("charge", {
      act: async ({ signal: stop }) => {
        log.push("charge");
        stop.addEventListener("abort", () => log.push("stopped"));
        await door.pass();
      },
      compensate: () => void log.push("refund"),
    })
    .step("ship", { act: () => void log.push("ship") });
  return { log, door, order };
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-44] a saga that is paused while a step runs finishes that step once, and begins no other until it is resumed", async () => {
    const { log, door, order } = held();
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o-1" });
    await door.reached;
    expect(await amends.pause({ id: "o-1" }, why)).toMatchObject({
      kind: "id",
      id: "o-1",
      name: "order",
      ...why,
    });
    door.open();
    await expect.poll(async () => (await amends.inspect("o-1"))?.owner).toBeUndefined();
    const view = await amends.inspect("o-1");
    expect(view).toMatchObject({ status: "RUNNING", paused: { kind: "id", ...why }, actions: ["cancel"] });
    expect(Object.keys(view?.results ?? {})).toEqual(["charge"]);
    expect(log).toEqual(["charge"]);
    expect(view?.timeline.filter(({ name }) => name === "ship")).toEqual([]);
    expect(await amends.resume({ id: "o-1" }, back)).toBe(true);
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["charge", "ship"]);
    expect((await amends.inspect("o-1"))?.paused).toBeUndefined();
    expect((await amends.inspect("o-1"))?.timeline).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "pause", kind: "control", note: why.reason, by: "ann" }),
        expect.objectContaining({ name: "resume", kind: "control", note: back.reason, by: "bob" }),
      ]),
    );
  });

  it("[S-44] a pause by another process reaches a saga that runs before its next step, and leaves its call alone", async () => {
    const { log, door, order } = held();
    const clock = watchedClock();
    const look = await onlooker(database);
    const here = await database.amends({ sagas: [order], clock });
    const there = await database.amends({ sagas: [order], clock });
    await here.start(order, {}, { id: "o-1" });
    const running = here.worker().runOnce();
    await door.reached;
    await there.pause({ id: "o-1" }, why);
    // The renewals read the line of the pause.
    await throughRenewals(16, { clock, look, id: "o-1", each: () => Promise.resolve() });
    door.open();
    await running;
    expect(log).toEqual(["charge"]);
    expect(await look.row("o-1")).toMatchObject({ owner: null, status: "RUNNING" });
    expect(await there.worker().runOnce()).toBe(0);
    await there.resume({ id: "o-1" }, back);
    expect(await there.worker().runOnce()).toBe(1);
    expect(await there.inspect("o-1")).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["charge", "ship"]);
  });

  it("[S-44] no worker claims a paused saga, and a resume wakes a worker that rests", async () => {
    const log: string[] = [];
    const order = saga("order", nothing).step("ship", { act: () => void log.push("ship") });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {}, { id: "o-1" });
    await amends.pause({ id: "o-1" }, why);
    expect(await amends.worker().runOnce()).toBe(0);
    await database.worker(amends, { poll: "1h" });
    expect(await amends.resume({ id: "o-1" }, back)).toBe(true);
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["ship"]);
  });

  it("[S-44] a saga that was started for later and is paused and resumed still waits for its instant", async () => {
    const clock = virtualClock();
    const order = saga("order", nothing).step("ship", { act: () => undefined });
    const amends = await database.amends({ sagas: [order], clock });
    await amends.start(order, {}, { id: "o-1", delay: "1h" });
    await amends.pause({ id: "o-1" }, why);
    await amends.resume({ id: "o-1" }, back);
    expect(await amends.worker().runOnce()).toBe(0);
    expect(await amends.inspect("o-1")).toMatchObject({ isScheduled: true });
    await clock.advance(3_600_000);
    expect(await amends.worker().runOnce()).toBe(1);
  });

  it("[S-44] what is sent to a saga that waits and is paused is kept, and it goes on when it is resumed", async () => {
    const clock = virtualClock();
    const order = saga("order", nothing)
      .waitFor("approval", { signal: approved, timeout: "3d" })
      .step("ship", { act: () => "shipped" });
    const amends = await database.amends({ sagas: [order], clock });
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    await amends.pause({ id: "o-1" }, why);
    await amends.signal("o-1", approved, {});
    expect(await amends.worker().runOnce()).toBe(0);
    await amends.resume({ id: "o-1" }, back);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await amends.inspect("o-1")).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-44] time goes on: a deadline that passed while a saga was paused is acted on after it is resumed", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const order = saga("order", nothing, { deadline: "1h" })
      .step("charge", { act: () => void log.push("charge"), compensate: () => void log.push("refund") })
      .sleep("rest", "10m")
      .step("ship", { act: () => void log.push("ship") });
    const amends = await database.amends({ sagas: [order], clock });
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    await amends.pause({ id: "o-1" }, why);
    await clock.advance(7_200_000);
    expect(await amends.worker().runOnce()).toBe(0);
    expect(log).toEqual(["charge"]);
    await amends.resume({ id: "o-1" }, back);
    await amends.worker().runOnce();
    expect(await amends.inspect("o-1")).toMatchObject({ status: "FAILED", error: { kind: "deadline" } });
    expect(log).toEqual(["charge", "refund"]);
  });

  it("[S-44] a cancel of a paused saga is recorded, and compensates after it is resumed", async () => {
    const { log, door, order } = held();
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o-1" });
    await door.reached;
    await amends.pause({ id: "o-1" }, why);
    expect(await amends.cancel("o-1", back)).toMatchObject({ status: "RUNNING", paused: { kind: "id" } });
    door.open();
    await expect.poll(async () => (await amends.inspect("o-1"))?.owner).toBeUndefined();
    expect(log).toEqual(["charge"]);
    await amends.resume({ id: "o-1" }, back);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(log).toEqual(["charge", "refund"]);
  });

  it("[S-44] the step of a paused saga that fails is recorded, and its compensation waits until it is resumed", async () => {
    const { log, door } = held();
    const order = saga("order", nothing, { concurrency: { key: () => "all", limit: 5 } })
      .step("charge", { act: () => void log.push("charge"), compensate: () => void log.push("refund") })
      .step("ship", { act: () => door.pass(), retry: { attempts: 1 } });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o-1" });
    await door.reached;
    await amends.pause({ id: "o-1" }, why);
    door.fail(new Error("lost"));
    await expect.poll(async () => (await amends.inspect("o-1"))?.owner).toBeUndefined();
    expect(await amends.inspect("o-1")).toMatchObject({ status: "COMPENSATING", paused: { kind: "id" } });
    expect(log).toEqual(["charge"]);
    await amends.resume({ id: "o-1" }, back);
    expect(await run.result()).toMatchObject({ status: "FAILED" });
    expect(log).toEqual(["charge", "refund"]);
  });

  it("[S-44] a saga whose last step runs while it is paused ends with it", async () => {
    const door = gate();
    const order = saga("order", nothing).step("ship", { act: () => door.pass() });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o-1" });
    await door.reached;
    await amends.pause({ id: "o-1" }, why);
    door.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect((await amends.inspect("o-1"))?.paused).toBeUndefined();
    expect((await amends.paused()).items).toEqual([]);
    await expect(amends.pause({ id: "o-1" }, why).catch(code)).resolves.toBe("NOT_ALLOWED_NOW");
    expect(await amends.resume({ id: "o-1" }, why)).toBe(false);
  });

  it("[S-44] a paused saga whose worker died stays paused, and is recovered after it is resumed", async () => {
    const log: string[] = [];
    const begun = gate();
    const order = (act: () => unknown) =>
      saga("order", nothing)
        .step("charge", { act })
        .step("ship", { act: () => void log.push("ship") });
    const vanishes = order(() => {
      log.push("charge");
      void begun.pass();
      return forEver();
    });
    const { first, second, lapse } = await pair(
      database,
      { sagas: [vanishes] },
      { sagas: [order(() => void log.push("charge again"))] },
    );
    await first.start(vanishes, {}, { id: "o-1" });
    void first.worker().runOnce();
    await begun.reached;
    await second.pause({ id: "o-1" }, why);
    lapse();
    expect(await second.worker().runOnce()).toBe(0);
    expect(await second.inspect("o-1")).toMatchObject({ status: "RUNNING", paused: { kind: "id", ...why } });
    await second.resume({ id: "o-1" }, back);
    expect(await second.worker().runOnce()).toBe(1);
    expect(await second.inspect("o-1")).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["charge", "charge again", "ship"]);
  });

  it("[S-44] a second pause keeps the first, and a saga that is not paused says so when it is resumed", async () => {
    const order = saga("order", nothing).step("ship", { act: () => undefined });
    const amends = await database.amends({ sagas: [order] });
    await amends.start(order, {}, { id: "o-1" });
    await amends.pause({ id: "o-1" }, why);
    expect(await amends.pause({ id: "o-1" }, back)).toMatchObject({ kind: "id", id: "o-1", ...why });
    expect((await amends.paused()).items).toMatchObject([{ kind: "id", id: "o-1", name: "order", ...why }]);
    expect(await amends.resume({ id: "o-1" }, back)).toBe(true);
    expect(await amends.resume({ id: "o-1" }, back)).toBe(false);
  });
});
