import { AuditTrail } from "amends/audit";
import { ResolverError, type OutboxEntry } from "amends/erasure";
import { expect, it } from "vitest";
import { RENEWALS } from "../../src/runtime/renewal.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { gatekeeper } from "../operate/support/hold.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop } from "./support/shop.ts";
import { rectifier } from "./support/systems.ts";

const LEASE_MS = 300_000;

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[O-14] a re-issued rectification takes the place of an abandoned one, and completes", async () => {
    const world = await shop(database);
    const broken = rectifier("crm", () => Promise.reject(new ResolverError("no")));
    const [old] = await world.enqueue(rectify("u-1", "a@example.org", "crm"));
    await runnerOn(world, [broken]).runOnce();
    const [entryId] = await world.enqueue(rectify("u-1", "a@example.org", "crm"));
    expect(await world.row(old as string)).toMatchObject({ status: "superseded", payload: null });
    await runnerOn(world, [rectifier("crm")]).runOnce();
    const { events } = await new AuditTrail(world.db).list({ subjectId: "u-1" });
    expect(events.map(({ type }) => type)).toEqual([
      "RECTIFICATION_STEP_FAILED",
      "RECTIFICATION_STEP_SUPERSEDED",
      "RECTIFICATION_STEP_SUCCEEDED",
      "RECTIFICATION_COMPLETED",
    ]);
    expect(events[1]?.payload).toEqual({
      entry_id: old,
      resolver: "crm",
      prior_status: "abandoned",
      superseded_by: entryId,
    });
  });

  it("[O-14] a retry of an older correction never overwrites a newer one", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    let isDown = true;
    const crm = rectifier("crm", () => (isDown ? Promise.reject(new Error("down")) : {}));
    const runner = runnerOn(world, [crm]);
    await world.enqueue(rectify("u-1", "old", "crm"));
    await runner.runOnce();
    await world.enqueue(rectify("u-1", "new", "crm"));
    isDown = false;
    await clock.advance(3_600_000);
    await runner.runOnce();
    expect(await runner.runOnce()).toBe(0);
    expect(crm.calls.map(({ corrections }) => corrections?.[0]?.value)).toEqual(["old", "new"]);
  });

  it("[O-14] what only the older one corrected goes over to the newer", async () => {
    const world = await shop(database);
    const crm = rectifier("crm");
    await world.enqueue({
      ...rectify("u-1", "old", "crm"),
      corrections: [
        { category: "email", value: "old" },
        { category: "name", value: "Ada" },
      ],
    });
    await world.enqueue(rectify("u-1", "new", "crm"));
    await runnerOn(world, [crm]).runOnce();
    expect(crm.calls.map(({ corrections }) => corrections)).toEqual([
      [
        { category: "email", value: "new" },
        { category: "name", value: "Ada" },
      ],
    ]);
  });

  it("[O-14] another subject, resolver or ref is left alone, and what has succeeded too", async () => {
    const world = await shop(database);
    const crm = rectifier("crm");
    const [done] = await world.enqueue(rectify("u-1", "a", "crm"));
    await runnerOn(world, [crm]).runOnce();
    await world.enqueue(
      rectify("u-2", "a", "crm"),
      rectify("u-1", "a", "other"),
      rectify("u-1", "a", "crm", "cus_2"),
    );
    await world.enqueue(rectify("u-1", "a", "crm"));
    expect((await world.row(done as string))["status"]).toBe("succeeded");
    expect(await world.outbox.statusCounts()).toMatchObject({ pending: 4, superseded: 0, succeeded: 1 });
  });

  it("[O-14] a newer one waits until the older one's call can no longer be under way", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const held = gate();
    const crm = rectifier("crm", () => held.pass().then(() => ({})));
    const old = runnerOn(world, [crm]);
    const [first] = await world.enqueue(rectify("u-1", "old", "crm"));
    const running = old.runOnce();
    await held.reached;
    const [second] = await world.enqueue(rectify("u-1", "new", "crm"));
    expect(await world.row(first as string)).toMatchObject({ status: "superseded" });
    expect((await world.row(second as string))["gate_ms"]).toBe(clock.virtualNowMs() + LEASE_MS + 1);
    held.open();
    await running;
    // Its answer came too late: the entry that took its place has the say.
    expect(await world.row(first as string)).toMatchObject({ status: "superseded" });
    expect(await world.trail("u-1")).toEqual(["RECTIFICATION_STEP_SUPERSEDED"]);
  });

  it("[O-14] an erasure cancels the subject's open rectifications and clears what they would have written", async () => {
    const world = await shop(database);
    const ids = await world.enqueue(rectify("u-1", "canary", "crm"), rectify("u-1", "canary", "other"));
    const [other] = await world.enqueue(rectify("u-2", "kept", "crm"));
    await world.enqueue(erase("u-1", "crm"));
    for (const id of ids)
      expect(await world.row(id)).toMatchObject({
        status: "superseded",
        payload: null,
        ref_value: "scrubbed",
      });
    expect((await world.row(other as string))["status"]).toBe("pending");
    expect(JSON.stringify(await world.rows())).not.toContain("canary");
    expect(await world.trail("u-1")).toEqual([
      "RECTIFICATION_STEP_SUPERSEDED",
      "RECTIFICATION_STEP_SUPERSEDED",
    ]);
  });

  it("[O-14] an erasure without entries cancels them in its own transaction, and a rollback gives them back", async () => {
    const world = await shop(database);
    const [id] = await world.enqueue(rectify("u-1"));
    const work = world.db.transaction(async (_session, tx) => {
      expect(await world.outbox.cancelRectifications(tx, "u-1")).toBe(1);
      throw new Error("no");
    });
    await expect(work).rejects.toThrow("no");
    expect((await world.row(id as string))["status"]).toBe("pending");
    await world.db.transaction((_session, tx) => world.outbox.cancelRectifications(tx, "u-1"));
    expect((await world.row(id as string))["status"]).toBe("superseded");
    expect(await world.db.transaction((_session, tx) => world.outbox.cancelRectifications(tx, "u-1"))).toBe(
      0,
    );
  });

  it("[O-14] [K-06] the runner of a cancelled entry cannot settle it, and its call is aborted", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const held = gate();
    const signals: AbortSignal[] = [];
    const crm = rectifier("crm", (_ref, { signal }) => (signals.push(signal), held.pass().then(() => ({}))));
    await world.enqueue(rectify("u-1", "old", "crm"));
    const runner = runnerOn(world, [crm]);
    const running = runner.runOnce();
    await held.reached;
    await world.enqueue(erase("u-1", "crm"));
    await expect
      .poll(async () => {
        await clock.advance(LEASE_MS / RENEWALS);
        return signals[0]?.aborted;
      })
      .toBe(true);
    await running;
    expect(runner.lost).toBe(1);
    held.open();
    expect(await world.trail("u-1")).toEqual(["RECTIFICATION_STEP_SUPERSEDED"]);
  });

  it("[O-14] two corrections of one thing in one call are refused: which is the newer?", async () => {
    const world = await shop(database);
    await expect(world.enqueue(rectify("u-1", "a"), rectify("u-1", "b"))).rejects.toMatchObject({
      code: "BAD_INPUT",
    });
    const entries: readonly OutboxEntry[] = await world.outbox.claimBatch();
    expect(entries).toEqual([]);
  });
});
