import { AuditTrail } from "amends/audit";
import { ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { forEver, gate } from "../sagas/support/gate.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, shop } from "./support/shop.ts";
import { eraser, verifier } from "./support/systems.ts";

const LEASE_MS = 300_000;
const VERIFIED = ["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED", "ERASURE_EXTERNAL_VERIFIED"];

onEachDatabase((database) => {
  it("[O-12] a verifying resolver is asked after the erasure, in the same run", async () => {
    const world = await shop(database);
    const crm = verifier("crm", () => true);
    const [id] = await world.enqueue(erase("u-1", "crm"));
    expect(await runnerOn(world, [crm]).runOnce()).toBe(1);
    expect(crm.calls.map(({ method }) => method)).toEqual(["erase", "verify"]);
    expect(await world.trail()).toEqual(VERIFIED);
    expect(await world.row(id as string)).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  it("[O-12] a resolver without the capability is not asked, and says nothing", async () => {
    const world = await shop(database);
    await world.enqueue(erase("u-1"));
    await runnerOn(world, [eraser("stripe")]).runOnce();
    expect(await world.trail()).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
  });

  it.each([
    ["still there", () => false, "StillPresent"],
    ["a permanent error", () => Promise.reject(new ResolverError("no_such_api")), "no_such_api"],
    ["an answer that fits nothing", () => "yes" as never, "UnfitAnswer"],
  ])("[O-12] the verdict never reverts the success: %s", async (_name, verdict, error) => {
    const world = await shop(database);
    const crm = verifier("crm", verdict);
    const [id] = await world.enqueue(erase("u-1", "crm"));
    await runnerOn(world, [crm]).runOnce();
    expect(await world.row(id as string)).toMatchObject({ status: "succeeded", last_error: null });
    const { events } = await new AuditTrail(world.db).list();
    expect(events.map(({ type }) => type)).toEqual([
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_COMPLETED",
      "ERASURE_EXTERNAL_VERIFICATION_FAILED",
    ]);
    expect(events.at(-1)?.payload).toMatchObject({ error });
  });

  it("[O-12] a verdict that cannot be had is asked for again, without another erasure, and the success stands", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const crm = verifier("crm", () => Promise.reject(new Error("down")));
    const runner = runnerOn(world, [crm], { maxAttempts: 3 });
    const [id] = await world.enqueue(erase("u-1", "crm"));
    for (let round = 0; round < 3; round++) {
      expect(await runner.runOnce()).toBe(1);
      await clock.advance(3_600_000);
    }
    expect(crm.calls.map(({ method }) => method)).toEqual(["erase", "verify", "verify", "verify"]);
    expect(await world.row(id as string)).toMatchObject({ status: "succeeded" });
    expect(await world.trail()).toEqual([
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_COMPLETED",
      "ERASURE_EXTERNAL_VERIFICATION_FAILED",
    ]);
  });

  it("[O-12] a crash before the verdict does not lose it, and nothing is put on record twice", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const held = gate();
    const dying = verifier("crm", () => (void held.pass(), forEver()));
    await world.enqueue(erase("u-1", "crm"));
    void runnerOn(world, [dying]).runOnce();
    await held.reached;
    expect(await world.trail()).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
    clock.jump(LEASE_MS);
    const crm = verifier("crm", () => true);
    const other = await shop(database, { clock });
    expect(await runnerOn(other, [crm]).runOnce()).toBe(1);
    expect(crm.calls.map(({ method }) => method)).toEqual(["verify"]);
    expect(await world.trail()).toEqual(VERIFIED);
  });

  it("[O-12] where verification is required, it gates completion until the data is found gone", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    let isGone = false;
    const crm = verifier("crm", () => isGone);
    const runner = runnerOn(world, [crm], { requireVerification: true });
    const [id] = await world.enqueue(erase("u-1", "crm"));
    await runner.runOnce();
    expect(await world.row(id as string)).toMatchObject({ status: "failed", last_error: "StillPresent" });
    expect(await world.trail()).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_EXTERNAL_VERIFICATION_FAILED"]);
    isGone = true;
    await clock.advance(30_000);
    await runner.runOnce();
    expect(crm.calls.map(({ method }) => method)).toEqual(["erase", "verify", "verify"]);
    expect(await world.trail()).toEqual([
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_EXTERNAL_VERIFICATION_FAILED",
      "ERASURE_EXTERNAL_VERIFIED",
      "ERASURE_COMPLETED",
    ]);
  });

  it("[O-12] a required verification that never succeeds ends with a person, and a requeue erases anew", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const crm = verifier("crm", () => false);
    const runner = runnerOn(world, [crm], { requireVerification: true, maxAttempts: 2 });
    const [id] = await world.enqueue(erase("u-1", "crm"));
    await runner.runOnce();
    await clock.advance(30_000);
    await runner.runOnce();
    expect(await world.row(id as string)).toMatchObject({ status: "abandoned", last_error: "StillPresent" });
    expect(await world.trail()).not.toContain("ERASURE_COMPLETED");
    await world.outbox.requeue([id as string]);
    await runner.runOnce();
    expect(crm.calls.map(({ method }) => method)).toEqual(["erase", "verify", "verify", "erase", "verify"]);
  });
});
