import { AuditTrail } from "amends/audit";
import { ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop } from "./support/shop.ts";
import { eraser, keeper, rectifier } from "./support/systems.ts";

const HOUR = 3_600_000;

onEachDatabase((database) => {
  it("[O-05] runOnce claims one batch, records each outcome and returns how many there were", async () => {
    const world = await shop(database);
    const stripe = eraser("stripe");
    const runner = runnerOn(world, [stripe], { batchSize: 3 });
    await world.enqueue(...["a", "b", "c", "d"].map((subject) => erase(subject)));
    expect(await runner.runOnce()).toBe(3);
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 3, pending: 1 });
    expect(await runner.runOnce()).toBe(1);
    expect(await runner.runOnce()).toBe(0);
    expect(stripe.calls.map(({ subjectId }) => subjectId).toSorted()).toEqual(["a", "b", "c", "d"]);
  });

  it("[O-06] the resolver gets the idempotency key, the attempt and a signal", async () => {
    const world = await shop(database);
    const signals: AbortSignal[] = [];
    const stripe = eraser("stripe", (_ref, { signal }) => (signals.push(signal), {}));
    const [entryId] = await world.enqueue(erase("u-1"));
    await runnerOn(world, [stripe]).runOnce();
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
    const world = await shop(database);
    const crm = rectifier("crm");
    const stripe = eraser("stripe");
    const [fine, not] = await world.enqueue(rectify("u-1", "x@example.org", "crm"), rectify("u-2"));
    await runnerOn(world, [crm, stripe]).runOnce();
    expect(crm.calls).toMatchObject([
      { method: "rectify", corrections: [{ category: "email", value: "x@example.org" }] },
    ]);
    expect(await world.row(fine as string)).toMatchObject({ status: "succeeded", payload: null });
    expect(await world.row(not as string)).toMatchObject({
      status: "abandoned",
      last_error: "CannotRectify",
      payload: null,
    });
    expect(stripe.calls).toEqual([]);
  });

  it("[O-07] success, also where there was nothing to do, is audited and then recorded", async () => {
    const world = await shop(database);
    const stripe = eraser("stripe", () => ({ alreadyAbsent: true }));
    const [entryId] = await world.enqueue(erase("u-1"));
    await runnerOn(world, [stripe]).runOnce();
    expect(await world.trail("u-1")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
    expect(await world.row(entryId as string)).toMatchObject({
      status: "succeeded",
      gate_ms: null,
      last_error: null,
      attempts: 1,
    });
  });

  it("[O-11] a horizon parks the entry, and after it the call is made again", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    let gone = false;
    const expiresAt = new Date(clock.virtualNowMs() + 48 * HOUR);
    const logs = keeper("logs", () => (gone ? { alreadyAbsent: true } : { expiresAt }));
    const runner = runnerOn(world, [logs]);
    const [entryId] = await world.enqueue(erase("u-1", "logs"));
    await runner.runOnce();
    expect(await world.row(entryId as string)).toMatchObject({
      status: "scheduled",
      gate_ms: expiresAt.getTime(),
      attempts: 0,
      last_error: null,
    });
    expect(await runner.runOnce()).toBe(0);
    gone = true;
    await clock.advance(48 * HOUR);
    expect(await runner.runOnce()).toBe(1);
    expect(await world.trail("u-1")).toEqual([
      "ERASURE_EXPIRY_SCHEDULED",
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_COMPLETED",
    ]);
    expect(logs.calls.map(({ method }) => method)).toEqual(["schedule", "schedule"]);
  });

  it("[O-07] [O-11] the trail says whether there was anything to do, when data expires, and that its expiry was verified", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const expiresAt = new Date(clock.virtualNowMs() + 48 * HOUR);
    const logs = keeper("logs", (_, __, count) => {
      if (count === 1) throw new RangeError("not now");
      return count === 2 ? { expiresAt } : { alreadyAbsent: true };
    });
    const runner = runnerOn(world, [
      logs,
      eraser("stripe"),
      eraser("empty", () => ({ alreadyAbsent: true })),
      rectifier("crm", () => ({ alreadyConsistent: true })),
      rectifier("mail"),
    ]);
    const [logsId, stripeId, emptyId] = await world.enqueue(
      erase("u-1", "logs"),
      erase("u-1"),
      erase("u-1", "empty"),
    );
    const [crmId, mailId] = await world.enqueue(
      rectify("u-2", "new@example.org", "crm"),
      rectify("u-2", "new@example.org", "mail"),
    );
    await runner.runOnce();
    await clock.advance(30_000);
    await runner.runOnce();
    await clock.advance(48 * HOUR);
    await runner.runOnce();
    const { events } = await new AuditTrail(world.db).list();
    const facts = (type: string) =>
      events
        .filter((one) => one.type === type)
        .map(({ payload }) => payload)
        .toSorted((a, b) => (String(a["entry_id"]) < String(b["entry_id"]) ? -1 : 1));
    const common = (entryId: string | undefined, resolver: string, attempts = 1) => ({
      entry_id: entryId,
      resolver,
      attempts,
    });
    expect(facts("ERASURE_EXPIRY_SCHEDULED")).toEqual([
      {
        ...common(logsId, "logs", 2),
        expires_at: expiresAt.toISOString(),
        horizon: 1,
        prior_error: "RangeError",
      },
    ]);
    expect(facts("ERASURE_STEP_SUCCEEDED")).toEqual([
      { ...common(logsId, "logs"), already_absent: true, verified_expiry: true },
      { ...common(stripeId, "stripe"), already_absent: false },
      { ...common(emptyId, "empty"), already_absent: true },
    ]);
    expect(facts("RECTIFICATION_STEP_SUCCEEDED")).toEqual([
      { ...common(crmId, "crm"), already_consistent: true },
      { ...common(mailId, "mail"), already_consistent: false },
    ]);
  });

  it("[O-05] a runner takes 50 entries at once and gives an entry up at its 8th failure, unless told otherwise", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const busy = eraser("stripe", () => Promise.reject(new Error("busy")));
    const runner = runnerOn(world, [busy]);
    await world.enqueue(...Array.from({ length: 51 }, (_, index) => erase(`u-${index}`)));
    expect(await runner.runOnce()).toBe(50);
    expect(await runner.runOnce()).toBe(1);
    for (let attempt = 2; attempt <= 8; attempt++) {
      expect(await world.outbox.statusCounts()).toMatchObject({ failed: 51, abandoned: 0 });
      await clock.advance(HOUR);
      expect([await runner.runOnce(), await runner.runOnce()]).toEqual([50, 1]);
    }
    expect(await world.outbox.statusCounts()).toMatchObject({ failed: 0, abandoned: 51 });
    expect(busy.calls).toHaveLength(51 * 8);
  });

  it("[O-02] the names of resolvers and the kinds of refs have up to 255 characters", async () => {
    const world = await shop(database);
    const name = "r".repeat(255);
    const system = eraser(name);
    const runner = runnerOn(world, [system]);
    await world.enqueue(erase("u-1", name));
    await runner.runOnce();
    expect(system.calls).toHaveLength(1);
    const long = "r".repeat(256);
    expect(() => runnerOn(world, [eraser(long)])).toThrow("1 to 255 letters");
    await expect(world.enqueue(erase("u-2", long))).rejects.toMatchObject({ code: "BAD_DEFINITION" });
    const kind = { ...erase("u-2"), ref: { kind: long, value: "cus_1" } };
    await expect(world.enqueue(kind)).rejects.toMatchObject({ details: { field: "ref.kind" } });
  });

  it("[O-11] a horizon that slips parks the entry again, on record each time, and never abandons it", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const logs = keeper("logs", () => ({ expiresAt: new Date(clock.virtualNowMs() + HOUR) }));
    const runner = runnerOn(world, [logs], { maxAttempts: 2 });
    const [entryId] = await world.enqueue(erase("u-1", "logs"));
    for (let slip = 1; slip <= 5; slip++) {
      expect(await runner.runOnce()).toBe(1);
      expect(await world.row(entryId as string)).toMatchObject({
        status: "scheduled",
        horizons: slip,
        attempts: 0,
      });
      await clock.advance(HOUR);
    }
    expect(await world.trail("u-1")).toEqual(Array(5).fill("ERASURE_EXPIRY_SCHEDULED"));
  });

  it("[O-11] a horizon that is over already is waited for one backoff step", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const logs = keeper("logs", () => ({ expiresAt: new Date(clock.virtualNowMs() - HOUR) }));
    const [entryId] = await world.enqueue(erase("u-1", "logs"));
    await runnerOn(world, [logs]).runOnce();
    expect(await world.row(entryId as string)).toMatchObject({
      status: "scheduled",
      gate_ms: clock.virtualNowMs() + 30_000,
    });
  });

  it("[O-06] a retention-only resolver is never asked to erase, whatever else it has", async () => {
    const world = await shop(database);
    const logs = keeper("logs", () => ({ alreadyAbsent: true }));
    await world.enqueue(erase("u-1", "logs"));
    await runnerOn(world, [logs]).runOnce();
    expect(logs.calls.map(({ method }) => method)).toEqual(["schedule"]);
    expect(await world.trail("u-1")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
  });

  it.each([
    ["a ResolverError", () => Promise.reject(new ResolverError("no_such_api")), "no_such_api"],
    ["nothing", () => undefined as never, "UnfitAnswer"],
    ["a text", () => "gone" as never, "UnfitAnswer"],
    ["a list", () => [] as never, "UnfitAnswer"],
    ["a wrong flag", () => ({ alreadyAbsent: "yes" }) as never, "UnfitAnswer"],
  ])("[O-08] %s ends the entry at once, loudly", async (_name, answer, error) => {
    const world = await shop(database);
    const stripe = eraser("stripe", answer);
    const [entryId] = await world.enqueue(erase("u-1"));
    await runnerOn(world, [stripe]).runOnce();
    expect(await world.row(entryId as string)).toMatchObject({
      status: "abandoned",
      last_error: error,
      gate_ms: null,
    });
    const { events } = await new AuditTrail(world.db).list();
    expect(events).toMatchObject([
      {
        type: "ERASURE_STEP_FAILED",
        subjectId: "u-1",
        payload: { entry_id: entryId, resolver: "stripe", attempts: 1, error, abandoned: true },
      },
    ]);
  });

  it("[O-08] [K-19] a resolver that the registry does not know ends the entry at once", async () => {
    const world = await shop(database);
    const [entryId] = await world.enqueue(erase("u-1", "gone-system"));
    await runnerOn(world, []).runOnce();
    expect(await world.row(entryId as string)).toMatchObject({
      status: "abandoned",
      last_error: "UnknownResolver",
    });
    expect(await world.trail("u-1")).toEqual(["ERASURE_STEP_FAILED"]);
  });

  it("[O-09] any other throw is tried again on the schedule, with its label and without an event", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const crm = rectifier("crm", () => Promise.reject(new TypeError("secret@example.org is not a customer")));
    const runner = runnerOn(world, [crm], { maxAttempts: 4 });
    const [entryId] = await world.enqueue(rectify("u-1", "new@example.org", "crm"));
    for (const [attempts, waitMs] of [
      [1, 30_000],
      [2, 60_000],
      [3, 120_000],
    ] as const) {
      await runner.runOnce();
      const row = await world.row(entryId as string);
      expect(row).toMatchObject({ status: "failed", attempts, last_error: "TypeError" });
      expect(row["gate_ms"]).toBe(clock.virtualNowMs() + waitMs);
      expect(row["payload"]).toContain("new@example.org");
      await clock.advance(waitMs - 1);
      expect(await runner.runOnce()).toBe(0);
      await clock.advance(1);
    }
    expect(await world.trail()).toEqual([]);
    await runner.runOnce();
    expect(await world.row(entryId as string)).toMatchObject({
      status: "abandoned",
      attempts: 4,
      payload: null,
    });
    expect(await world.trail()).toEqual(["RECTIFICATION_STEP_FAILED"]);
    expect(crm.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    expect(new Set(crm.calls.map(({ key }) => key))).toEqual(new Set([entryId]));
  });

  it.each([
    ["a text", "boom", "UnknownError"],
    ["nothing", undefined, "UnknownError"],
    ["a code", Object.assign(new Error("x"), { code: "ECONNRESET" }), "ECONNRESET"],
    ["an object that lies", Object.assign(new Error("x"), { code: "mail@example.org" }), "Error"],
  ])("[K-16] of what is thrown only a label is kept: %s", async (_name, thrown, label) => {
    const world = await shop(database);
    const stripe = eraser("stripe", () => Promise.reject(thrown));
    const [entryId] = await world.enqueue(erase("u-1"));
    await runnerOn(world, [stripe]).runOnce();
    expect(await world.row(entryId as string)).toMatchObject({ status: "failed", last_error: label });
  });

  it("[O-09] [K-07] an entry that kills its runner every time ends abandoned, without a further call", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const [entryId] = await world.enqueue(erase("u-1"));
    for (let crash = 1; crash <= 3; crash++) {
      expect(await world.outbox.claimBatch()).toHaveLength(1);
      await clock.advance(300_000);
    }
    const stripe = eraser("stripe");
    expect(await runnerOn(world, [stripe], { maxAttempts: 3 }).runOnce()).toBe(1);
    expect(stripe.calls).toEqual([]);
    expect(await world.row(entryId as string)).toMatchObject({
      status: "abandoned",
      attempts: 4,
      last_error: "AttemptsExhausted",
    });
    expect(await world.trail()).toEqual(["ERASURE_STEP_FAILED"]);
  });

  it("[K-17] one entry that cannot be read does not keep the others from being done", async () => {
    const world = await shop(database);
    const crm = rectifier("crm");
    const [bad, fine] = await world.enqueue(rectify("u-1", "a", "crm"), rectify("u-2", "b", "crm"));
    const { dialect } = world.db;
    await world.db.query(sql`update ${dialect.table("outbox")} set payload = '{' where entry_id = ${bad}`);
    await runnerOn(world, [crm]).runOnce();
    expect(await world.row(bad as string)).toMatchObject({
      status: "abandoned",
      last_error: "UnreadableEntry",
    });
    expect(await world.row(fine as string)).toMatchObject({ status: "succeeded" });
    expect(crm.calls).toHaveLength(1);
  });
});
