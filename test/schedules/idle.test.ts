/** What schedules cost a worker that has nothing to do, and what becomes of one that cannot start its saga. */
import { saga, type WorkerOptions } from "amends";
import { event } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { isLook, traffic } from "../operate/support/traffic.ts";
import { insertMany } from "./support/many.ts";
import { HOUR, invoicing, MINUTE, NIGHT, scene, whileTimePasses } from "./support/scene.ts";

const MANY = 10_000;
const IDLE_MS = 10_000;
const STEP_MS = 50;

/** What a worker without work sends in ten seconds of virtual time: its looks, and everything else. */
async function sentWhileIdle(
  database: TestDatabase,
  schedules: number,
  options: WorkerOptions = {},
): Promise<{ looks: number; others: readonly string[] }> {
  const clock = virtualClock(NIGHT);
  const db = await database.open({ clock });
  const watched = traffic(db);
  if (schedules > 0) await insertMany(db, schedules);
  const amends = await database.amends({ database: watched.database, sagas: [invoicing([])] });
  const worker = await database.worker(amends, options);
  const pass = async (ms: number): Promise<readonly string[]> => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await clock.advance(STEP_MS);
      await until(() => watched.underWay === 0);
    }
    return watched.sent();
  };
  await pass(3_000); // it has begun, and has found nothing
  const sent = await pass(IDLE_MS);
  await worker.stop();
  await database.forget();
  return { looks: sent.filter(isLook).length, others: sent.filter((text) => !isLook(text)) };
}

onEachDatabase((database) => {
  it("[S-41] 10,000 schedules add no statement to an idle worker", async () => {
    for (const [schedules, options] of [
      [0, {}],
      [MANY, {}],
      [MANY, { only: ["schedules"] }],
    ] as const) {
      const { looks, others } = await sentWhileIdle(database, schedules, options);
      expect(looks).toBeGreaterThan(0);
      expect(others).toEqual([]);
    }
  });

  it("[S-41] a worker learns of a schedule that another process puts", async () => {
    const { amends, clock, started, invoice } = await scene(database);
    const other = await database.amends({ sagas: [invoice], clock });
    await database.worker(amends);
    await other.schedules.put("s", { cron: "* * * * *", saga: invoice, input: {} });
    await whileTimePasses(clock, () => started.length > 0);
    expect(clock.virtualNowMs()).toBeLessThan(NIGHT + 2 * MINUTE);
  });

  it("[S-41] a worker of schedules alone learns of it, too", async () => {
    const { amends, clock, invoice } = await scene(database);
    await database.worker(amends, { only: ["schedules"] });
    const other = await database.amends({ sagas: [invoice], clock });
    await other.schedules.put("s", { cron: "* * * * *", saga: invoice, input: {} });
    const last = await whileTimePasses(clock, async () => (await other.schedules.get("s"))?.last);
    expect(last).toMatchObject({ outcome: "started" });
  });

  it("[S-41] a schedule whose saga cannot be made costs the others nothing, and goes on once it can", async () => {
    const paid = event("Paid", z.object({ orderId: z.string() }));
    let isBroken = false;
    const order = saga("order", z.object({})).waitFor("paid", {
      event: paid,
      where: "orderId",
      equals: () => {
        if (isBroken) throw new Error("a change of the code");
        return "o-1";
      },
    });
    const errors: object[] = [];
    const ignore = (): void => undefined;
    const logger = { info: ignore, warn: ignore, error: (fields: object) => void errors.push(fields) };
    const started: string[] = [];
    const invoice = invoicing(started);
    const { amends, pass } = await scene(database, () => invoice, {
      sagas: [order, invoice],
      logger,
      events: [],
    });
    await amends.schedules.put("broken", { cron: "0 * * * *", saga: order, input: {} });
    await amends.schedules.put("fine", { cron: "0 * * * *", saga: invoice, input: {} });
    isBroken = true;
    await pass(HOUR);
    await pass(1);
    expect(started).toEqual(["fine@2026-11-18T01:00:00Z"]);
    expect(errors).toEqual([{ schedule: "broken", error: "BAD_INPUT" }]);
    expect((await amends.schedules.get("broken"))?.next?.at).toEqual(new Date(NIGHT + HOUR));
    isBroken = false;
    await pass(MINUTE);
    expect((await amends.schedules.get("broken"))?.last).toMatchObject({ outcome: "started" });
  });
});
