/** Ticks start sagas: each one once, by a worker that knows the saga. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { gatekeeper } from "../operate/support/hold.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import {
  go,
  HOUR,
  invoicing,
  MINUTE,
  NIGHT,
  NOTE,
  scene,
  SECOND,
  waiting,
  whileTimePasses,
} from "./support/scene.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[S-41] each tick starts one saga, whose id says the tick and whose input is the schedule's", async () => {
    const { clock, amends, started, invoice } = await scene(database);
    const put = await amends.schedules.put("nightly-invoices", {
      cron: "0 3 * * *",
      timezone: "Europe/Berlin",
      saga: invoice,
      input: {},
    });
    expect(put).toEqual({ change: "created", nextAt: new Date("2026-11-18T02:00:00Z") });
    await database.worker(amends);
    clock.jump(2 * HOUR - 3 * SECOND);
    const ids = ["nightly-invoices@2026-11-18T02:00:00Z", "nightly-invoices@2026-11-19T02:00:00Z"];
    for (const [index, id] of ids.entries()) {
      // Each saga has ended before time moves on by a day: a jump ends the lease of a saga that runs.
      await whileTimePasses(clock, async () => (await amends.inspect(id))?.status === "COMPLETED");
      expect(clock.virtualNowMs()).toBeGreaterThanOrEqual(NIGHT + 2 * HOUR + index * 24 * HOUR);
      expect(await amends.inspect(id)).toMatchObject({ name: "invoice", input: { month: "this" } });
      clock.jump(24 * HOUR - 3 * SECOND);
    }
    expect(started).toEqual(ids);
  });

  it("[S-41] several workers start each tick once", async () => {
    const clock = virtualClock(NIGHT);
    const started: string[] = [];
    const invoice = invoicing(started);
    const amends = await database.amends({ sagas: [invoice], clock });
    const others = [
      await database.amends({ sagas: [invoicing(started)], clock }),
      await database.amends({ sagas: [invoicing(started)], clock }),
    ];
    for (let n = 0; n < 30; n++)
      await amends.schedules.put(`s-${n}`, {
        cron: "* * * * *",
        saga: invoice,
        input: {},
        overlap: "allow",
        missed: "all",
      });
    for (const process of [amends, ...others]) await database.worker(process);
    clock.jump(3 * MINUTE - 1);
    await whileTimePasses(clock, () => started.length >= 90);
    expect(new Set(started).size).toBe(started.length);
    for (let n = 0; n < 30; n++) {
      const { lastTicks = [] } = (await amends.schedules.get(`s-${n}`)) ?? {};
      expect(lastTicks.slice(-3)).toMatchObject(
        [3, 2, 1].map((minute) => ({
          at: new Date(NIGHT + minute * MINUTE),
          outcome: "started",
        })),
      );
    }
  });

  it("[S-41] a worker that was slow neither starts a tick again nor moves the schedule back", async () => {
    const { clock, amends, started, invoice, pass } = await scene(database);
    await amends.schedules.put("hourly", { cron: "0 * * * *", saga: invoice, input: {} });
    const slow = gate();
    const held = new Proxy(await database.open({ clock }), {
      get: (db, key) => {
        const value: unknown = Reflect.get(db, key, db);
        if (typeof value !== "function") return value;
        if (key !== "transaction") return value.bind(db) as unknown;
        return async (...args: Parameters<typeof db.transaction>) => {
          await slow.pass();
          return db.transaction(...args);
        };
      },
    });
    const other = await database.amends({ database: held, sagas: [invoicing([])] });
    clock.jump(HOUR);
    const late = other.worker({ only: ["schedules"] }).runOnce();
    await slow.reached;
    await pass(0);
    await pass(HOUR);
    const before = await amends.schedules.get("hourly");
    slow.open();
    expect(await late).toBe(0);
    expect(await amends.schedules.get("hourly")).toEqual(before);
    expect(started).toEqual(["hourly@2026-11-18T01:00:00Z", "hourly@2026-11-18T02:00:00Z"]);
  });

  it("[S-41] only a process that knows the saga and its version runs the ticks", async () => {
    const { clock, amends, invoice } = await scene(database);
    const newer = saga("invoice", nothing, { version: 2 }).step("send", { act: () => 1 });
    const stranger = await database.amends({ sagas: [newer], clock });
    await amends.schedules.put("hourly", { cron: "0 * * * *", saga: invoice, input: {} });
    clock.jump(HOUR);
    expect(await stranger.worker().runOnce({ budget: "1m" })).toMatchObject({ items: 0 });
    expect(await stranger.inspect("hourly@2026-11-18T01:00:00Z")).toBeUndefined();
    expect(await amends.worker().runOnce({ budget: "1m" })).toMatchObject({ items: 2 });
    expect(await amends.inspect("hourly@2026-11-18T01:00:00Z")).toMatchObject({ version: 1 });
  });

  it("[S-41] runOnce runs due ticks, and its report knows the next one", async () => {
    const { clock, amends, started, invoice } = await scene(database);
    await amends.schedules.put("hourly", { cron: "0 * * * *", saga: invoice, input: {} });
    const one = new Date(NIGHT + HOUR);
    expect(await amends.worker().runOnce({ budget: "1m" })).toEqual({ items: 0, more: false, nextAt: one });
    clock.jump(HOUR);
    expect(await amends.worker().runOnce({ budget: "1m" })).toEqual({
      items: 2,
      more: false,
      nextAt: new Date(NIGHT + 2 * HOUR),
    });
    expect(started).toEqual(["hourly@2026-11-18T01:00:00Z"]);
  });

  it("[S-41] a tick is skipped while the saga of an earlier one is open, and recorded as skipped", async () => {
    const { amends, started, invoice, pass } = await scene(database, waiting);
    await amends.schedules.put("hourly", { cron: "0 * * * *", saga: invoice, input: {} });
    const open = "hourly@2026-11-18T01:00:00Z";
    for (let hour = 1; hour <= 3; hour++) await pass(HOUR);
    expect(started).toEqual([open]);
    const facts = { run: false, sagaId: open, sagaStatus: "RUNNING" };
    expect((await amends.schedules.get("hourly"))?.lastTicks).toEqual([
      {
        at: new Date(NIGHT + 2 * HOUR),
        until: new Date(NIGHT + 3 * HOUR),
        outcome: "skipped",
        ...facts,
      },
      { at: new Date(NIGHT + HOUR), until: undefined, outcome: "started", ...facts },
    ]);
    await amends.signal(open, go, {});
    await pass(0);
    await pass(HOUR);
    expect(started).toEqual([open, "hourly@2026-11-18T04:00:00Z"]);
    expect((await amends.schedules.get("hourly"))?.lastTicks.at(-1)).toMatchObject({
      sagaId: open,
      sagaStatus: "COMPLETED",
    });
  });

  it("[S-41] a stalled saga is open, too: its schedule waits for the person who resolves it", async () => {
    const clock = virtualClock(NIGHT);
    const no = (): never => {
      throw new Error("no");
    };
    const broken = saga("broken", nothing).step("only", {
      act: no,
      compensate: no,
      retry: { attempts: 1 },
      compensateRetry: { attempts: 1 },
    });
    const amends = await database.amends({ sagas: [broken], clock });
    await amends.schedules.put("hourly", { cron: "0 * * * *", saga: broken, input: {} });
    const pass = async (): Promise<void> => {
      clock.jump(HOUR);
      await amends.worker().runOnce({ budget: "1m" });
    };
    await pass();
    const id = "hourly@2026-11-18T01:00:00Z";
    expect((await amends.inspect(id))?.status).toBe("STALLED");
    await pass();
    expect((await amends.schedules.get("hourly"))?.last).toMatchObject({ outcome: "skipped", sagaId: id });
    await amends.resolve(id, "FAILED", NOTE);
    await pass();
    expect((await amends.schedules.get("hourly"))?.last).toMatchObject({
      outcome: "started",
      sagaId: "hourly@2026-11-18T03:00:00Z",
    });
  });

  it('[S-41] with overlap "allow" a tick starts beside the open saga', async () => {
    const { amends, started, invoice, pass } = await scene(database, waiting);
    await amends.schedules.put("hourly", { cron: "0 * * * *", saga: invoice, input: {}, overlap: "allow" });
    await pass(HOUR);
    await pass(HOUR);
    expect(started).toHaveLength(2);
  });

  it("[S-41] after a change from allow to skip, every open saga of an earlier tick counts", async () => {
    const { amends, invoice, pass } = await scene(database, waiting);
    const hourly = { cron: "0 * * * *", saga: invoice, input: {} };
    await amends.schedules.put("hourly", { ...hourly, overlap: "allow" });
    await pass(HOUR);
    await pass(HOUR);
    await amends.signal("hourly@2026-11-18T02:00:00Z", go, {});
    await amends.schedules.put("hourly", hourly);
    await pass(HOUR);
    await pass(HOUR);
    expect((await amends.schedules.get("hourly"))?.last).toMatchObject({
      outcome: "skipped",
      sagaId: "hourly@2026-11-18T01:00:00Z",
    });
  });

  it("[S-41] a tick begins later by its jitter, at the instant that is shown before", async () => {
    const { clock, amends, invoice } = await scene(database);
    await amends.schedules.put("spread", { cron: "0 * * * *", saga: invoice, input: {}, jitter: "30m" });
    const { at, beginsAt } = (await amends.schedules.get("spread"))?.next ?? {};
    expect(at).toEqual(new Date(NIGHT + HOUR));
    const delayMs = Number(beginsAt) - Number(at);
    expect(delayMs).toBeGreaterThan(0);
    expect(delayMs).toBeLessThan(30 * MINUTE);
    clock.jump(HOUR + delayMs - 1);
    expect(await amends.worker().runOnce({ budget: "1m" })).toMatchObject({ items: 0, nextAt: beginsAt });
    clock.jump(1);
    await amends.worker().runOnce({ budget: "1m" });
    expect(await amends.inspect("spread@2026-11-18T01:00:00Z")).toBeDefined();
  });
});
