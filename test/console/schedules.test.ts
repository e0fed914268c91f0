/** Schedules over HTTP: a list, one of them with its ticks, and the actions of operators. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { ActionLine, Page, Revealed } from "../../src/console/contract.ts";
import type { ScheduleDetail, ScheduleLine, ScheduleRun } from "../../src/console/contract-parts.ts";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { visit } from "./support/visit.ts";

const NIGHT = Date.parse("2026-11-18T00:00:00Z");
const HOUR = 3_600_000;

async function scene(database: TestDatabase) {
  const clock = virtualClock(NIGHT);
  const invoice = saga("invoice", z.object({ email: z.string() })).step("send", { act: () => 1 });
  const amends = await database.amends({ sagas: [invoice], clock });
  const nightly = {
    cron: "0 3 * * *",
    timezone: "Europe/Berlin",
    saga: invoice,
    input: { email: "ada@example.com" },
  };
  await amends.schedules.put("nightly", { ...nightly, jitter: "10m" });
  await amends.schedules.put("hourly", { cron: "0 * * * *", saga: invoice, input: nightly.input });
  // A console sees and steers whatever there is, also in a process that knows none of the sagas.
  return { amends, clock, ...visit(await database.amends({ clock })) };
}

onEachDatabase((database) => {
  it("[P-04] schedules are listed by name, by the beginning of a name and by status, and page without a gap", async () => {
    const { amends, get, as } = await scene(database);
    await amends.schedules.pause("hourly", { reason: "the bank is down", by: "ann" });
    const ids = async (query: string): Promise<readonly string[]> =>
      (await get<Page<ScheduleLine>>("reader", `/api/schedules?${query}`)).items.map(({ id }) => id);
    expect(await ids("")).toEqual(["hourly", "nightly"]);
    expect(await ids("q=night")).toEqual(["nightly"]);
    expect(await ids("status=paused")).toEqual(["hourly"]);
    expect(await ids("saga=other")).toEqual([]);
    const first = await get<Page<ScheduleLine>>("reader", "/api/schedules?limit=1");
    expect(first.items).toMatchObject([
      {
        id: "hourly",
        status: "paused",
        next: null,
        last: null,
        pendingRun: null,
        paused: { by: "ann", reason: "the bank is down" },
        actions: ["resume", "run", "remove"],
      },
    ]);
    expect(await ids(`limit=1&after=${first.next ?? ""}`)).toEqual(["nightly"]);
    expect((await as("reader", "/api/schedules?status=gone")).status).toBe(400);
  });

  it("[P-04] one schedule is shown with its next and its last ticks, and its input only on request", async () => {
    const { amends, clock, get, post, as } = await scene(database);
    clock.jump(HOUR);
    await amends.worker().runOnce({ budget: "1m" });
    const detail = await get<ScheduleDetail>("reader", "/api/schedules/hourly");
    expect(detail).toMatchObject({
      id: "hourly",
      status: "active",
      cron: "0 * * * *",
      timezone: "UTC",
      saga: "invoice",
      version: 1,
      overlap: "skip",
      missed: "one",
      jitterMs: 0,
      input: { masked: true, shape: { email: "text" } },
      next: { at: "2026-11-18T02:00:00.000Z", beginsAt: "2026-11-18T02:00:00.000Z" },
      last: {
        at: "2026-11-18T01:00:00.000Z",
        until: null,
        outcome: "started",
        run: false,
        sagaId: "hourly@2026-11-18T01:00:00Z",
        sagaStatus: "COMPLETED",
      },
      actions: ["run", "pause", "remove"],
    });
    expect(detail.nextTicks).toHaveLength(10);
    expect(detail.lastTicks).toEqual([detail.last]);
    const nightly = await get<ScheduleDetail>("reader", "/api/schedules/nightly");
    expect(nightly.next?.at).toBe("2026-11-18T02:00:00.000Z");
    expect(Date.parse(nightly.next?.beginsAt ?? "")).toBeGreaterThan(Date.parse(nightly.next?.at ?? ""));
    expect(JSON.stringify([detail, nightly])).not.toContain("ada@example.com");
    const asked = { kind: "schedule", id: "hourly", reason: "ticket 12" };
    expect(await post<Revealed>("revealer", "/api/reveal", asked)).toEqual({
      fields: { input: { email: "ada@example.com" } },
    });
    for (const id of ["other", "a%20b", "%00"])
      expect([id, (await as("reader", `/api/schedules/${id}`)).status]).toEqual([id, 404]);
  });

  it("[P-04][S-41] pause, resume, run and remove need a reason and go on record", async () => {
    const { amends, clock, post, get, as } = await scene(database);
    const act = <T>(action: string): Promise<T> =>
      post<T>("operator", `/api/schedules/hourly/${action}`, { reason: `to ${action}` });
    expect(await act("pause")).toMatchObject({
      status: "paused",
      paused: { by: "Otto", reason: "to pause" },
    });
    expect(await act("resume")).toMatchObject({ status: "active", paused: null });
    const { sagaId, pendingRun } = await act<ScheduleRun>("run");
    expect([pendingRun, sagaId.startsWith("hourly@run-")]).toEqual([sagaId, true]);
    const again = await as("operator", "/api/schedules/hourly/run", {
      method: "POST",
      body: { reason: "x" },
    });
    expect([again.status, await again.json()]).toMatchObject([409, { code: "NOT_ALLOWED_NOW" }]);
    clock.jump(1);
    await amends.worker().runOnce({ budget: "1m" });
    expect(await get<ScheduleDetail>("reader", "/api/schedules/hourly")).toMatchObject({
      pendingRun: null,
      last: { run: true, sagaId, sagaStatus: "COMPLETED" },
    });
    expect(await act("remove")).toEqual({ id: "hourly", status: "removed", actions: [] });
    for (const action of ["pause", "resume", "run", "remove"]) {
      const refused = await as("operator", `/api/schedules/hourly/${action}`, {
        method: "POST",
        body: { reason: "it is gone" },
      });
      expect([action, refused.status]).toEqual([action, 404]);
    }
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit?target=hourly");
    const done = items.filter(({ outcome }) => outcome === "done").map(({ by, action }) => [by, action]);
    expect(done).toEqual(["remove", "run", "resume", "pause"].map((action) => ["Otto", action]));
  });
});
