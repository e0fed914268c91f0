import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { gatekeeper } from "./support/hold.ts";

const nothing = z.object({});

/** The checks before a run find nothing, and each claim of webhooks fails. */
async function breakWebhooks(db: Database): Promise<void> {
  await db.query(sql`alter table ${db.dialect.table("webhook_jobs")} rename column next_attempt_at to gone`);
}

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[C-09] a run with a budget works until nothing is due, with what its own work makes due", async () => {
    const inner = saga("inner", nothing).step("only", { act: () => 1 });
    const outer = saga("outer", nothing).step("only", {
      act: async () => (await amends.start(inner, {}, { id: "inner" })).id,
    });
    const amends = await database.amends({ sagas: [inner, outer] });
    await amends.start(outer, {}, { id: "outer" });
    expect(await amends.worker().runOnce({ budget: "1m" })).toEqual({
      items: 2,
      more: false,
      nextAt: undefined,
    });
    for (const id of ["inner", "outer"]) expect((await amends.inspect(id))?.status).toBe("COMPLETED");
  });

  it("[C-09] a step that may take longer than the run is told once, because it may never finish", async () => {
    const said: string[] = [];
    const note = (_: object, message: string): void => void said.push(message);
    const order = saga("order", nothing)
      .step("reserve", { timeout: "1s", act: () => 1 })
      .step("charge", { timeout: "5s", act: () => 1 })
      .step("mail", { act: () => 1 });
    const amends = await database.amends({
      sagas: [order],
      webhooks: {},
      logger: { info: note, warn: note, error: note },
    });
    for (let n = 0; n < 2; n++) await amends.worker().runOnce({ budget: "8s" });
    await amends.worker({ only: ["webhooks"] }).runOnce({ budget: "3s" });
    expect(said).toEqual([]);
    for (let n = 0; n < 2; n++) await amends.worker().runOnce({ budget: "3s" });
    expect(said).toEqual([
      expect.stringContaining("step charge may take 5s, and a run has 1.9s for work: it may never finish"),
    ]);
  });

  it("[C-09] more work than slots is done in one run, and a slow call keeps no slot from the others", async () => {
    const slow = gate();
    let count = 0;
    const order = saga("order", nothing).step("only", {
      act: async ({ sagaId }) => {
        count++;
        if (sagaId === "o-0") await slow.pass();
      },
    });
    const amends = await database.amends({ sagas: [order] });
    for (let n = 0; n < 7; n++) await amends.start(order, {}, { id: `o-${n}` });
    const running = amends.worker({ concurrency: 2 }).runOnce({ budget: "1m" });
    await slow.reached;
    await expect.poll(() => count).toBe(7);
    slow.open();
    expect(await running).toMatchObject({ items: 7, more: false });
  });

  it("[C-09] what is not finished in time is aborted and given back, and the next run takes it at once", async () => {
    const clock = virtualClock();
    const reached = gate();
    const reasons: unknown[] = [];
    let calls = 0;
    const long = saga("long", nothing).step("only", {
      act: ({ signal }) => {
        if (++calls > 1) return undefined;
        void reached.pass();
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            reasons.push((signal.reason as Error).message);
            reject(new Error("stopped"));
          }),
        );
      },
    });
    const amends = await database.amends({ sagas: [long], clock });
    await amends.start(long, {}, { id: "one" });
    const running = amends.worker().runOnce({ budget: "8s" });
    await reached.reached;
    // Five seconds for work, one for calls to finish; then they are aborted, in time for their work to be given back.
    await clock.advance(5_999);
    expect(reasons).toEqual([]);
    await clock.advance(1);
    expect(reasons).toEqual(["amends: shutdown"]);
    expect(await running).toEqual({ items: 1, more: true, nextAt: undefined });
    expect(clock.virtualNowMs() - Date.UTC(2030, 0, 1)).toBeLessThanOrEqual(8_000);
    expect(await amends.inspect("one")).toMatchObject({
      status: "RUNNING",
      owner: undefined,
      recoveryAttempts: 0,
    });
    expect(await amends.worker().runOnce({ budget: "8s" })).toMatchObject({ items: 1, more: false });
    expect((await amends.inspect("one"))?.status).toBe("COMPLETED");
  });

  it("[C-09] nothing is claimed after the time for work, and what is left stays as it was", async () => {
    const clock = virtualClock();
    const acts: string[] = [];
    const slow = saga("slow", nothing).step("only", {
      act: ({ sagaId }) =>
        new Promise<void>((resolve) => {
          acts.push(sagaId);
          clock.after(3_000, resolve);
        }),
    });
    const amends = await database.amends({ sagas: [slow], clock });
    for (let n = 0; n < 4; n++) await amends.start(slow, {}, { id: `s-${n}` });
    const running = amends.worker({ concurrency: 1 }).runOnce({ budget: "8s" });
    await expect.poll(() => acts.length).toBe(1);
    await clock.advance(3_000);
    await expect.poll(() => acts.length).toBe(2);
    await clock.advance(3_000);
    expect(await running).toMatchObject({ items: 2, more: true });
    expect(acts).toEqual(["s-0", "s-1"]);
    expect(await amends.inspect("s-1")).toMatchObject({ status: "COMPLETED" });
    expect(await amends.inspect("s-2")).toMatchObject({ status: "PENDING", owner: undefined });
  });

  it("[C-09] the report says when the next work becomes due", async () => {
    const clock = virtualClock();
    const patient = saga("patient", nothing)
      .sleep("pause", "1h")
      .step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [patient], clock });
    await amends.start(patient, {});
    const report = await amends.worker().runOnce({ budget: "8s" });
    expect(report).toEqual({ items: 1, more: false, nextAt: new Date(clock.virtualNowMs() + 3_600_000) });
    await clock.advance(3_600_000);
    expect(await amends.worker().runOnce({ budget: "8s" })).toMatchObject({ items: 1, nextAt: undefined });
  });

  it("[C-09] a part that cannot claim is named at the end, and the others work and give back what is not finished", async () => {
    const clock = virtualClock();
    const reached = gate();
    const order = saga("order", nothing).step("only", { act: () => 1 });
    const long = saga("long", nothing).step("only", {
      act: ({ signal }) => {
        void reached.pass();
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
      },
    });
    const amends = await database.amends({ sagas: [order, long], calls: [], webhooks: {}, clock });
    const db = await database.open();
    await breakWebhooks(db);
    await amends.start(order, {}, { id: "short" });
    await amends.start(long, {}, { id: "long" });
    const running = amends.worker().runOnce({ budget: "8s" });
    const ended = running.catch((error: unknown) => error);
    await reached.reached;
    await expect.poll(async () => (await amends.inspect("short"))?.status).toBe("COMPLETED");
    await clock.advance(6_000);
    expect(await ended).toMatchObject({ code: "DATABASE_REFUSED", details: { duties: ["webhooks"] } });
    expect(await amends.inspect("long")).toMatchObject({ status: "RUNNING", owner: undefined });
  });

  it("[P-01] without a budget as well, a part that cannot claim is named after the others have worked", async () => {
    const held = gate();
    const order = saga("order", nothing).step("only", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [order], webhooks: {} });
    const db = await database.open();
    await breakWebhooks(db);
    await amends.start(order, {}, { id: "one" });
    const running = amends.worker().runOnce();
    const ended = running.catch((error: unknown) => error);
    await held.reached;
    held.open();
    expect(await ended).toMatchObject({ code: "DATABASE_REFUSED", details: { duties: ["webhooks"] } });
    expect(await amends.inspect("one")).toMatchObject({ status: "COMPLETED" });
  });

  it("[C-09] a budget that is no duration is refused", async () => {
    const amends = await database.amends({ sagas: [] });
    for (const budget of ["soon", 0, -1, undefined])
      await expect(amends.worker().runOnce({ budget } as { budget: "8s" })).rejects.toMatchObject({
        code: "BAD_DURATION",
      });
  });
});
