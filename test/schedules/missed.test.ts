/** Ticks that passed while no worker ran, what is kept of the last ticks, and what is listed. */
import { expect, it } from "vitest";
import { saga } from "amends";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { HOUR, invoicing, MINUTE, NIGHT, NOTE, scene } from "./support/scene.ts";

const at = (hours: number): Date => new Date(NIGHT + hours * HOUR);

onEachDatabase((database) => {
  it("[S-41] by default only the latest of the missed ticks starts, and the others are recorded", async () => {
    const { amends, started, invoice, pass } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    await pass(5.5 * HOUR);
    expect(started).toEqual(["s@2026-11-18T05:00:00Z"]);
    expect(await amends.schedules.get("s")).toMatchObject({
      next: { at: at(6) },
      lastTicks: [
        { at: at(5), until: undefined, outcome: "started" },
        { at: at(1), until: at(4), outcome: "missed", sagaId: undefined, sagaStatus: undefined },
      ],
    });
  });

  it('[S-41] with missed "skip" none of them starts; a tick that is at most a minute late does', async () => {
    const { amends, started, invoice, pass } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {}, missed: "skip" });
    await pass(2 * HOUR + MINUTE + 1);
    expect(started).toEqual([]);
    expect((await amends.schedules.get("s"))?.lastTicks).toMatchObject([
      { at: at(1), until: at(2), outcome: "missed" },
    ]);
    await pass(HOUR - 1);
    expect(started).toEqual(["s@2026-11-18T03:00:00Z"]);
  });

  it('[S-41] with missed "all" each of them starts, the oldest first, at most 1,000; the last 100 ticks are kept', async () => {
    const { amends, invoice, pass, started } = await scene(database);
    await amends.schedules.put("s", {
      cron: "* * * * *",
      saga: invoice,
      input: {},
      overlap: "allow",
      missed: "all",
    });
    await pass(1_500 * MINUTE);
    const minutes = (from: number, to: number): readonly string[] =>
      Array.from(
        { length: to - from + 1 },
        (_, n) => `s@${new Date(NIGHT + (from + n) * MINUTE).toISOString().replace(".000Z", "Z")}`,
      );
    // A minute late is on time.
    const expected = [...minutes(1, 1_000), ...minutes(1_499, 1_500)];
    expect(started.toSorted()).toEqual(expected.toSorted());
    const { lastTicks = [] } = (await amends.schedules.get("s")) ?? {};
    expect(lastTicks).toHaveLength(100);
    expect(lastTicks.slice(0, 4)).toMatchObject([
      { outcome: "started", at: new Date(NIGHT + 1_500 * MINUTE) },
      { outcome: "started", at: new Date(NIGHT + 1_499 * MINUTE) },
      {
        outcome: "missed",
        at: new Date(NIGHT + 1_001 * MINUTE),
        until: new Date(NIGHT + 1_498 * MINUTE),
      },
      { outcome: "started", at: new Date(NIGHT + 1_000 * MINUTE) },
    ]);
    // The schedule is on time again: the next outage may start 1,000 more.
    await pass(10 * MINUTE);
    expect(started).toHaveLength(1_012);
  }, 60_000);

  it("[S-41] where the clocks change, a daily schedule starts one saga a day", async () => {
    const clock = virtualClock(Date.parse("2026-10-24T12:00:00Z"));
    const { amends, started, invoice, pass } = await scene(database, invoicing, { clock });
    const zones = { berlin: "Europe/Berlin", york: "America/New_York", howe: "Australia/Lord_Howe" };
    for (const [name, timezone] of Object.entries(zones))
      await amends.schedules.put(name, { cron: "30 2 * * *", timezone, saga: invoice, input: {} });
    for (let n = 0; n < 4 * 24 * 2; n++) await pass(HOUR / 2);
    expect(started.filter((id) => id.startsWith("berlin"))).toEqual([
      "berlin@2026-10-25T00:30:00Z",
      "berlin@2026-10-26T01:30:00Z",
      "berlin@2026-10-27T01:30:00Z",
      "berlin@2026-10-28T01:30:00Z",
    ]);
    expect(started).toHaveLength(12);
  }, 60_000);

  it("[S-41] the last ticks tell how their sagas ended, also when retention has removed them", async () => {
    const clock = virtualClock(NIGHT);
    const failing = saga("failing", z.object({})).step("only", {
      act: ({ sagaId }) => {
        if (sagaId.includes("T01")) throw new Error("no");
      },
      retry: { attempts: 1 },
    });
    const { amends, pass } = await scene(database, invoicing, {
      clock,
      sagas: [failing],
      retention: { sagas: "90m" },
    });
    await amends.schedules.put("s", { cron: "0 * * * *", saga: failing, input: {} });
    for (let hour = 1; hour <= 3; hour++) await pass(HOUR);
    await pass(0);
    expect(await amends.inspect("s@2026-11-18T01:00:00Z")).toBeUndefined();
    expect((await amends.schedules.get("s"))?.lastTicks).toMatchObject([
      { at: at(3), sagaStatus: "COMPLETED" },
      { at: at(2), sagaStatus: "COMPLETED" },
      { at: at(1), sagaStatus: "FAILED" },
    ]);
  });

  it("[S-41] lists schedules by name, page by page, and filters them", async () => {
    const { amends, invoice } = await scene(database);
    for (const name of ["b-1", "a-2", "b-2", "a-1", "c"])
      await amends.schedules.put(name, { cron: "0 3 * * *", saga: invoice, input: {} });
    await amends.schedules.pause("b-1", NOTE);
    const names = async (filter: Parameters<typeof amends.schedules.list>[0]): Promise<readonly string[]> =>
      (await amends.schedules.list(filter)).items.map(({ name }) => name);
    expect(await names({})).toEqual(["a-1", "a-2", "b-1", "b-2", "c"]);
    const first = await amends.schedules.list({ limit: 2 });
    expect(first.items.map(({ name }) => name)).toEqual(["a-1", "a-2"]);
    const second = await amends.schedules.list({ limit: 3, after: first.next as string });
    expect(second.items.map(({ name }) => name)).toEqual(["b-1", "b-2", "c"]);
    expect(second.next).toBeUndefined();
    expect(await names({ name: "b-" })).toEqual(["b-1", "b-2"]);
    expect(await names({ status: "paused" })).toEqual(["b-1"]);
    expect(await names({ status: "active", name: "b" })).toEqual(["b-2"]);
    expect(await names({ saga: "other" })).toEqual([]);
    await expect(names({ status: "gone" as never })).rejects.toThrow(/`status` must be active or paused/);
    for (const bad of [{ name: "a\0" }, { saga: "" }, { name: 7 as never }])
      await expect(names(bad)).rejects.toMatchObject({ code: "BAD_ID" });
    await expect(names({ limit: 0 })).rejects.toThrow(/`limit` must be a whole number of 1 to 1000/);
    await expect(names({ after: "x" })).rejects.toThrow(/`after` must be/);
  });

  it("[S-41] shows as many of the next ticks as are asked for", async () => {
    const { amends, invoice } = await scene(database);
    await amends.schedules.put("s", {
      cron: "0 3 * * *",
      timezone: "Asia/Kolkata",
      saga: invoice,
      input: {},
    });
    const shown = await amends.schedules.get("s", { nextTicks: 3 });
    expect(shown?.nextTicks.map((tick) => tick.at.toISOString())).toEqual([
      "2026-11-18T21:30:00.000Z",
      "2026-11-19T21:30:00.000Z",
      "2026-11-20T21:30:00.000Z",
    ]);
    expect(shown?.input).toEqual({ month: "this" });
    await expect(amends.schedules.get("s", { nextTicks: 101 })).rejects.toThrow(/1 to 100/);
  });
});
