/** What operators do to schedules: pause, resume, run, remove; each with a reason, on record. */
import { type Amends } from "amends";
import { expect, it } from "vitest";
import { listActionPage } from "../../src/audit/list.ts";
import { onEachDatabase } from "../support/databases.ts";
import { go, HOUR, MINUTE, NIGHT, NOTE, scene, waiting, whileTimePasses } from "./support/scene.ts";

onEachDatabase((database) => {
  it("[S-41] a paused schedule does not tick, and says since when, by whom and why", async () => {
    const { amends, started, invoice, pass } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    await amends.schedules.pause("s", { reason: "the bank is down", by: "ann" });
    await pass(5 * HOUR);
    expect(started).toEqual([]);
    expect(await amends.schedules.get("s")).toMatchObject({
      status: "paused",
      paused: { since: new Date(NIGHT), by: "ann", reason: "the bank is down" },
      next: undefined,
      nextTicks: [],
      lastTicks: [],
    });
    expect(await amends.worker().runOnce({ budget: "1m" })).toMatchObject({ nextAt: undefined });
  });

  it("[S-41] a resumed schedule goes on from now, and makes up for nothing", async () => {
    const { amends, started, invoice, pass, clock } = await scene(database);
    await amends.schedules.put("s", {
      cron: "0 * * * *",
      saga: invoice,
      input: {},
      overlap: "allow",
      missed: "all",
    });
    await amends.schedules.pause("s", NOTE);
    clock.jump(5.5 * HOUR);
    await amends.schedules.resume("s", NOTE);
    expect(await amends.schedules.get("s")).toMatchObject({ status: "active", paused: undefined });
    await pass(HOUR);
    expect(started).toEqual(["s@2026-11-18T06:00:00Z"]);
  });

  it("[S-41] pausing twice and resuming twice change nothing more; a put does not resume", async () => {
    const { amends, invoice, clock } = await scene(database);
    const definition = { cron: "0 * * * *", saga: invoice, input: {} };
    await amends.schedules.put("s", definition);
    await amends.schedules.pause("s", NOTE);
    const before = await amends.schedules.get("s");
    clock.jump(MINUTE);
    await amends.schedules.pause("s", { reason: "once more" });
    expect(await amends.schedules.get("s")).toEqual(before);
    expect(await amends.schedules.put("s", { ...definition, cron: "5 * * * *" })).toEqual({
      change: "replaced",
      nextAt: undefined,
    });
    expect(await amends.schedules.get("s")).toMatchObject({ status: "paused", cron: "5 * * * *" });
    await amends.schedules.resume("s", NOTE);
    const resumed = await amends.schedules.get("s");
    clock.jump(MINUTE);
    await amends.schedules.resume("s", NOTE);
    expect(await amends.schedules.get("s")).toEqual(resumed);
  });

  it("[S-41] a run starts the saga now, also of a paused schedule, and leaves its ticks as they are", async () => {
    const { amends, started, invoice, pass } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    const { sagaId } = await amends.schedules.run("s", NOTE);
    await pass(0);
    expect(started).toEqual([sagaId]);
    expect(await amends.schedules.get("s")).toMatchObject({
      next: { at: new Date(NIGHT + HOUR) },
      lastTicks: [{ at: new Date(NIGHT), outcome: "started", run: true, sagaId, sagaStatus: "COMPLETED" }],
    });
    await amends.schedules.pause("s", NOTE);
    const again = await amends.schedules.run("s", NOTE);
    expect(again.sagaId).not.toBe(sagaId);
    await pass(0);
    expect(started).toEqual([sagaId, again.sagaId]);
    expect(await amends.schedules.get("s")).toMatchObject({ status: "paused", next: undefined });
  });

  it("[S-41] a running worker takes up a run at once", async () => {
    const { amends, started, invoice, clock } = await scene(database);
    await amends.schedules.put("s", { cron: "0 0 1 1 *", saga: invoice, input: {} });
    await database.worker(amends);
    const { sagaId } = await amends.schedules.run("s", NOTE);
    await whileTimePasses(clock, () => started.length > 0);
    expect(started).toEqual([sagaId]);
  });

  it("[S-41] a process that does not know the saga can ask for a run, and one that does starts it", async () => {
    const { amends, started, invoice, clock, pass } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    const console = await database.amends({ clock });
    const { sagaId } = await console.schedules.run("s", NOTE);
    expect(await console.worker().runOnce({ budget: "1m" })).toMatchObject({ items: 0 });
    await expect(amends.schedules.run("s", NOTE)).rejects.toMatchObject({
      code: "NOT_ALLOWED_NOW",
      message: `A run of schedule s waits for a worker already: ${sagaId}.`,
    });
    await pass(0);
    expect(started).toEqual([sagaId]);
  });

  it("[S-41] a run is refused while an earlier saga is open, unless the schedule allows overlap", async () => {
    const { amends, started, invoice, pass } = await scene(database, waiting);
    const definition = { cron: "0 * * * *", saga: invoice, input: {} };
    await amends.schedules.put("s", definition);
    await pass(HOUR);
    const open = "s@2026-11-18T01:00:00Z";
    const refused = amends.schedules.run("s", NOTE);
    await expect(refused).rejects.toThrow(`Saga ${open} of schedule s is RUNNING`);
    await expect(refused).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    await amends.schedules.put("s", { ...definition, overlap: "allow" });
    await amends.schedules.run("s", NOTE);
    await pass(0);
    expect(started).toHaveLength(2);
    await amends.signal(open, go, {});
  });

  it("[S-41] a removed schedule is gone with its ticks, and its open saga goes on", async () => {
    const { amends, started, invoice, pass } = await scene(database, waiting);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    await pass(HOUR);
    expect(await amends.schedules.remove("s", NOTE)).toBe(true);
    expect(await amends.schedules.remove("s", NOTE)).toBe(false);
    expect(await amends.schedules.get("s")).toBeUndefined();
    await amends.signal(started[0] as string, go, {});
    await pass(HOUR);
    expect(await amends.inspect(started[0] as string)).toMatchObject({ status: "COMPLETED" });
    expect(started).toHaveLength(1);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    expect((await amends.schedules.get("s"))?.lastTicks).toEqual([]);
  });

  it("[S-41] every action is on record with its reason, and one that is refused with its code", async () => {
    const { amends, invoice, pass } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    await amends.schedules.pause("s", { reason: "one", by: "ann" });
    await amends.schedules.resume("s", { reason: "two", by: "bob" });
    await amends.schedules.run("s", { reason: "three", by: "ann" });
    await expect(amends.schedules.run("s", { reason: "four" })).rejects.toThrow(/waits for a worker/);
    await pass(0);
    await amends.schedules.remove("s", { reason: "five", by: "ann" });
    expect(await actionsOf(amends)).toEqual([
      "remove s by ann: five (done)",
      "run s by unknown: four (refused NOT_ALLOWED_NOW)",
      "run s by ann: three (done)",
      "resume s by bob: two (done)",
      "pause s by ann: one (done)",
    ]);
  });

  it("[S-41] an action without a reason, or on a schedule that does not exist, is refused", async () => {
    const { amends, invoice } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    for (const action of ["pause", "resume", "run", "remove"] as const) {
      await expect(amends.schedules[action]("s", { reason: " " })).rejects.toThrow(/Give a reason/);
      await expect(amends.schedules[action]("s", undefined as never)).rejects.toThrow(/Give a reason/);
    }
    for (const action of ["pause", "resume", "run"] as const)
      await expect(amends.schedules[action]("other", NOTE)).rejects.toMatchObject({
        code: "SCHEDULE_NOT_FOUND",
      });
    expect(await amends.schedules.get("s")).toMatchObject({ status: "active" });
  });
});

async function actionsOf(amends: Amends): Promise<readonly string[]> {
  const { items } = await listActionPage(amends.context.database, { limit: 100 });
  return items.map(
    ({ action, target, by, reason, outcome, code }) =>
      `${action} ${target.id} by ${by}: ${reason} (${outcome}${code === undefined ? "" : ` ${code}`})`,
  );
}
