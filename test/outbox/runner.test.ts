import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop } from "./support/shop.ts";
import { eraser, keeper, rectifier } from "./support/systems.ts";

const HOUR = 3_600_000;

onEachDatabase((database) => {
  it("[O-05] runOnce takes one batch, books each outcome and says how many there were", async () => {
    const it = await shop(database);
    const stripe = eraser("stripe");
    const runner = runnerOn(it, [stripe], { batchSize: 3 });
    await it.enqueue(...["a", "b", "c", "d"].map((subject) => erase(subject)));
    expect(await runner.runOnce()).toBe(3);
    expect(await it.outbox.statusCounts()).toMatchObject({ succeeded: 3, pending: 1 });
    expect(await runner.runOnce()).toBe(1);
    expect(await runner.runOnce()).toBe(0);
    expect(stripe.calls.map(({ subjectId }) => subjectId).toSorted()).toEqual(["a", "b", "c", "d"]);
  });

  it("[O-06] the resolver gets the idempotency key, the attempt and a signal", async () => {
    const it = await shop(database);
    const signals: AbortSignal[] = [];
    const stripe = eraser("stripe", (_ref, { signal }) => (signals.push(signal), {}));
    const [entryId] = await it.enqueue(erase("u-1"));
    await runnerOn(it, [stripe]).runOnce();
    expect(stripe.calls).toEqual([
      {
        method: "erase",
        ref: { kind: "stripe", value: "cus_1" },
        key: entryId,
        attempt: 1,
        subjectId: "u-1",
      },
    ]);
    expect(signals[0]).toBeInstanceOf(AbortSignal);
    expect(signals[0]?.aborted).toBe(false);
  });

  it("[O-06] rectify goes to rectifySubject with its corrections; a resolver without it ends the entry", async () => {
    const it = await shop(database);
    const crm = rectifier("crm");
    const stripe = eraser("stripe");
    const [fine, not] = await it.enqueue(rectify("u-1", "x@example.org", "crm"), rectify("u-2"));
    await runnerOn(it, [crm, stripe]).runOnce();
    expect(crm.calls).toMatchObject([
      { method: "rectify", corrections: [{ category: "email", value: "x@example.org" }] },
    ]);
    expect(await it.row(fine as string)).toMatchObject({ status: "succeeded", payload: null });
    expect(await it.row(not as string)).toMatchObject({
      status: "abandoned",
      last_error: "CannotRectify",
      payload: null,
    });
    expect(stripe.calls).toEqual([]);
  });

  it("[O-07] success, also where there was nothing to do, is on record and then booked", async () => {
    const it = await shop(database);
    const stripe = eraser("stripe", () => ({ alreadyAbsent: true }));
    const [entryId] = await it.enqueue(erase("u-1"));
    await runnerOn(it, [stripe]).runOnce();
    expect(await it.trail("u-1")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
    expect(await it.row(entryId as string)).toMatchObject({
      status: "succeeded",
      gate_ms: null,
      last_error: null,
      attempts: 1,
    });
  });

  it("[O-11] a horizon parks the entry, and after it the call is made again", async () => {
    const clock = virtualClock();
    const it = await shop(database, { clock });
    let gone = false;
    const expiresAt = new Date(clock.virtualNowMs() + 48 * HOUR);
    const logs = keeper("logs", () => (gone ? { alreadyAbsent: true } : { expiresAt }));
    const runner = runnerOn(it, [logs]);
    const [entryId] = await it.enqueue(erase("u-1", "logs"));
    await runner.runOnce();
    expect(await it.row(entryId as string)).toMatchObject({
      status: "scheduled",
      gate_ms: expiresAt.getTime(),
      attempts: 0,
      last_error: null,
    });
    expect(await runner.runOnce()).toBe(0);
    gone = true;
    await clock.advance(48 * HOUR);
    expect(await runner.runOnce()).toBe(1);
    expect(await it.trail("u-1")).toEqual([
      "ERASURE_EXPIRY_SCHEDULED",
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_COMPLETED",
    ]);
    expect(logs.calls.map(({ method }) => method)).toEqual(["schedule", "schedule"]);
  });
});
