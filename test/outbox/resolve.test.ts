import { AuditTrail, type AuditSink, type KeyedAuditEvent } from "amends/audit";
import { ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop, type Shop } from "./support/shop.ts";
import { eraser, rectifier } from "./support/systems.ts";

const UNKNOWN = "018f0000-0000-7000-8000-0000000000aa";
const refusing = (name: string) => eraser(name, () => Promise.reject(new ResolverError("no_access")));
const EVIDENCE = { reason: "the provider closed; letter of 3 May", by: "ann" };

async function abandon(world: Shop, ...subjects: readonly string[]): Promise<readonly string[]> {
  const ids = await world.enqueue(...subjects.map((subject) => erase(subject)));
  await runnerOn(world, [refusing("stripe")]).runOnce();
  return ids;
}

onEachDatabase((database) => {
  it("[O-21] an abandoned erasure that an operator confirms counts as succeeded, with the evidence on record, and completes its request", async () => {
    const world = await shop(database);
    const [id] = (await abandon(world, "u-1")) as [string];
    expect(await world.outbox.resolve([id], EVIDENCE)).toMatchObject([
      { entryId: id, status: "succeeded", lastError: undefined },
    ]);
    expect(await world.row(id)).toMatchObject({ status: "succeeded", gate_ms: null, payload: null });
    expect(JSON.stringify(await world.row(id))).not.toContain(erase("u-1").ref.value);
    const { events } = await new AuditTrail(world.db).list({ subjectId: "u-1" });
    expect(events.slice(-2)).toMatchObject([
      {
        type: "ERASURE_STEP_RESOLVED",
        payload: {
          entry_id: id,
          resolver: "stripe",
          prior_attempts: 1,
          prior_error: "no_access",
          reason: EVIDENCE.reason,
          by: "ann",
        },
      },
      { type: "ERASURE_COMPLETED" },
    ]);
  });

  it("[O-21] [O-13] another open entry keeps the request open, and the one that ends last completes it once", async () => {
    const world = await shop(database);
    const [broken, busy] = (await world.enqueue(erase("u-1", "broken"), erase("u-1", "busy"))) as [
      string,
      string,
    ];
    await runnerOn(world, [refusing("broken"), refusing("busy")]).runOnce();
    await world.outbox.resolve([broken], EVIDENCE);
    expect(await world.trail("u-1")).not.toContain("ERASURE_COMPLETED");
    await world.outbox.requeue([busy]);
    await runnerOn(world, [eraser("busy")]).runOnce();
    expect((await world.trail("u-1")).filter((type) => type === "ERASURE_COMPLETED")).toHaveLength(1);
  });

  it("[O-21] an abandoned rectification, which cannot be requeued, can be confirmed", async () => {
    const world = await shop(database);
    const [id] = (await world.enqueue(rectify("u-2", "x", "crm"))) as [string];
    await runnerOn(world, [rectifier("crm", () => Promise.reject(new ResolverError("no")))]).runOnce();
    expect(await world.outbox.resolve([id], EVIDENCE)).toMatchObject([{ status: "succeeded" }]);
    expect((await world.trail("u-2")).slice(-2)).toEqual([
      "RECTIFICATION_STEP_RESOLVED",
      "RECTIFICATION_COMPLETED",
    ]);
  });

  it("[O-21] unknown ids and entries that are not abandoned are skipped, and a reason is required", async () => {
    const world = await shop(database);
    const [id] = (await abandon(world, "u-1")) as [string];
    const [pending] = (await world.enqueue(erase("u-3"))) as [string];
    await expect(world.outbox.resolve([id], {} as never)).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(world.outbox.resolve([id], { reason: " " })).rejects.toMatchObject({ code: "BAD_OPTION" });
    expect((await world.row(id))["status"]).toBe("abandoned");
    expect(await world.outbox.resolve([], EVIDENCE)).toEqual([]);
    const done = await world.outbox.resolve([pending, UNKNOWN, id.toUpperCase(), id], EVIDENCE);
    expect(done.map(({ entryId }) => entryId)).toEqual([id]);
    expect((await world.row(pending))["status"]).toBe("pending");
    expect(await world.outbox.resolve([id], EVIDENCE)).toEqual([]);
    const bare = await shop(database, { audit: undefined as never });
    await expect(bare.outbox.resolve([id], EVIDENCE)).rejects.toMatchObject({ code: "CONFIGURATION" });
  });

  it("[O-21] a foreign sink is told first, and the completion follows through the outbox; while it is down nothing is resolved", async () => {
    const told: KeyedAuditEvent[] = [];
    let isDown = true;
    const audit: AuditSink = {
      append: async (events) => {
        if (isDown) throw new Error("down");
        told.push(...events);
      },
    };
    const world = await shop(database, { audit });
    isDown = false;
    const [id] = (await abandon(world, "u-1")) as [string];
    isDown = true;
    told.length = 0;
    await expect(world.outbox.resolve([id], EVIDENCE)).rejects.toThrow("down");
    expect((await world.row(id))["status"]).toBe("abandoned");
    isDown = false;
    expect(await world.outbox.resolve([id], EVIDENCE)).toHaveLength(1);
    expect(told).toMatchObject([
      { type: "ERASURE_STEP_RESOLVED", dedupeKey: `${id}:ERASURE_STEP_RESOLVED:0` },
    ]);
    await runnerOn({ ...world, audit: audit as never }, [eraser("stripe")]).runOnce();
    expect(told.map(({ type }) => type)).toEqual(["ERASURE_STEP_RESOLVED", "ERASURE_COMPLETED"]);
  });

  it("[O-21] resolves that race settle each entry once, with one event each and one completion per request", async () => {
    const world = await shop(database);
    const subjects = ["u-0", "u-0", "u-1", "u-1", "u-2"];
    const ids = await world.enqueue(
      ...subjects.map((subject, index) => erase(subject, "stripe", `cus_${index}`)),
    );
    await runnerOn(world, [refusing("stripe")]).runOnce();
    const done = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        world.outbox.resolve(index % 2 ? ids : ids.toReversed(), EVIDENCE),
      ),
    );
    expect(
      done
        .flat()
        .map(({ entryId }) => entryId)
        .toSorted(),
    ).toEqual(ids.toSorted());
    const trail = await world.trail();
    expect(trail.filter((type) => type === "ERASURE_STEP_RESOLVED")).toHaveLength(5);
    expect(trail.filter((type) => type === "ERASURE_COMPLETED")).toHaveLength(3);
  });
});
