import { saga } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";
import { watched } from "./support/watched.ts";

const nothing = z.object({});
const HOUR_MS = 3_600_000;

/** Two steps with two hours between them; what each does is written down. */
function napping(log: string[]) {
  return saga("napping", nothing)
    .step("before", { act: () => log.push("before"), compensate: () => void log.push("undone") })
    .sleep("cool-off", "2h")
    .step("after", { act: () => log.push("after") });
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-25] a saga that sleeps is due when its time has come, not a moment before, and holds nothing", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const nap = napping(log);
    const amends = await database.amends({ sagas: [nap], clock });
    const run = await amends.start(nap, {});
    expect(await amends.worker().runOnce()).toBe(1);
    const look = await onlooker(database);
    const row = await look.row(run.id);
    expect(row).toMatchObject({ status: "RUNNING", owner: null, awaits: null });
    expect(Number(row["gate_ms"])).toBe(clock.virtualNowMs() + 2 * HOUR_MS);
    clock.jump(2 * HOUR_MS - 1);
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(1);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["before", "after"]);
    expect(await look.history(run.id)).toEqual([
      "before act STARTED",
      "before act COMPLETED",
      "cool-off act STARTED",
      "cool-off act COMPLETED",
      "after act STARTED",
      "after act COMPLETED",
    ]);
  });

  it("[S-25][S-05] a sleep begins in the checkpoint before it: it costs a claim and a line, no more", async () => {
    const clock = virtualClock();
    const { database: db, commits } = watched(await database.open({ clock }));
    const nap = napping([]);
    const amends = await database.amends({ database: db, sagas: [nap] });
    const run = await amends.start(nap, {});
    await amends.worker().runOnce();
    const look = await onlooker(database);
    expect(await look.lines(run.id)).toEqual(["$claim act COMPLETED", "before act COMPLETED"]);
    expect(commits()).toBe(3);
    clock.jump(2 * HOUR_MS);
    await amends.worker().runOnce();
    expect((await look.lines(run.id)).slice(2)).toEqual([
      "$claim act COMPLETED",
      "cool-off act COMPLETED",
      "after act COMPLETED",
    ]);
    expect(commits()).toBe(3);
  });

  it("[S-25] whoever works later, in another process, wakes it: the time it slept counts", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const nap = napping(log);
    const first = await database.amends({ sagas: [nap], clock });
    const { id } = await first.start(nap, {});
    await first.worker().runOnce();
    await first.close();
    const later = virtualClock(clock.virtualNowMs() + 2 * HOUR_MS);
    const second = await database.amends({ sagas: [nap], clock: later });
    expect(await second.worker().runOnce()).toBe(1);
    expect(await (await second.get(id)).status()).toBe("COMPLETED");
    expect(log).toEqual(["before", "after"]);
  });

  it("[S-25][S-23] a cancel ends a sleep at once, and what was done before it is undone", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const nap = napping(log);
    const amends = await database.amends({ sagas: [nap], clock });
    const run = await amends.start(nap, {});
    await amends.worker().runOnce();
    await run.cancel();
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "cool-off",
      error: { kind: "cancelled" },
    });
    expect(log).toEqual(["before", "undone"]);
  });

  it("[S-25][S-21] the saga's deadline ends a sleep that would outlast it", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const nap = saga("napping", nothing, { deadline: "30m" })
      .step("before", { act: () => log.push("before"), compensate: () => void log.push("undone") })
      .sleep("cool-off", "2h");
    const amends = await database.amends({ sagas: [nap], clock });
    const run = await amends.start(nap, {});
    await amends.worker().runOnce();
    clock.jump(HOUR_MS / 2);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "cool-off",
      error: { kind: "deadline" },
    });
    expect(log).toEqual(["before", "undone"]);
  });

  it("[S-25][S-22] after the pivot the saga's deadline cuts no sleep short", async () => {
    const clock = virtualClock();
    const late = saga("late", nothing, { deadline: "1h" })
      .pivot("charge", { act: () => "charged" })
      .sleep("cool-off", "2h")
      .step("mail", { act: () => "mailed" });
    const amends = await database.amends({ sagas: [late], clock });
    const run = await amends.start(late, {});
    await amends.worker().runOnce();
    clock.jump(HOUR_MS);
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(HOUR_MS);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { mail: "mailed" } });
  });

  it("[S-25] a saga may begin and end with a sleep, also where it begins in the process that starts it", async () => {
    const clock = virtualClock();
    const nap = saga("napping", nothing).sleep("first", "2h").sleep("second", "2h");
    const amends = await database.amends({ sagas: [nap], clock });
    await database.worker(amends);
    const run = await amends.start(nap, {});
    const look = await onlooker(database);
    const dueIn = async (): Promise<number> =>
      Number((await look.row(run.id))["gate_ms"]) - clock.virtualNowMs();
    await expect.poll(dueIn).toBe(2 * HOUR_MS);
    expect((await look.history(run.id))[0]).toBe("first act STARTED");
    clock.jump(2 * HOUR_MS);
    await expect
      .poll(async () => (await clock.advance(1_000), (await look.history(run.id)).length), {
        timeout: 10_000,
      })
      .toBe(3);
    clock.jump(2 * HOUR_MS);
    await expect
      .poll(async () => (await clock.advance(1_000), (await look.row(run.id))["status"]), { timeout: 10_000 })
      .toBe("COMPLETED");
  });

  it("[S-25] a short sleep is waited out in place, like a short wait between two tries", async () => {
    const clock = virtualClock();
    const nap = saga("napping", nothing)
      .step("before", { act: () => 1 })
      .sleep("moment", "300ms")
      .step("after", { act: () => 2 });
    const amends = await database.amends({ sagas: [nap], clock });
    await database.worker(amends);
    const run = await amends.start(nap, {});
    const look = await onlooker(database);
    await expect.poll(async () => (await look.history(run.id)).at(-1)).toBe("moment act STARTED");
    expect(await look.row(run.id)).toMatchObject({ owner: expect.any(String) as string });
    await expect
      .poll(async () => (await clock.advance(100), (await look.row(run.id))["status"]), { timeout: 10_000 })
      .toBe("COMPLETED");
    expect((await look.lines(run.id)).filter((line) => line.startsWith("$"))).toEqual([]);
  });

  it("[S-25] a cancel ends a short sleep too", async () => {
    const clock = virtualClock();
    const nap = saga("napping", nothing)
      .sleep("moment", "900ms")
      .step("after", { act: () => 2 });
    const amends = await database.amends({ sagas: [nap], clock });
    await database.worker(amends);
    const run = await amends.start(nap, {});
    const look = await onlooker(database);
    await expect.poll(() => look.history(run.id)).toEqual(["moment act STARTED"]);
    await run.cancel();
    await expect.poll(async () => (await look.row(run.id))["status"]).toBe("FAILED");
  });
});
