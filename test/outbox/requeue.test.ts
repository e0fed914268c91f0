import { AuditTrail, type AuditSink, type KeyedAuditEvent } from "amends/audit";
import { ConfigurationError, ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop, type Shop } from "./support/shop.ts";
import { eraser, rectifier } from "./support/systems.ts";

const UNKNOWN = "018f0000-0000-7000-8000-0000000000aa";

async function abandon(world: Shop, ...subjects: readonly string[]): Promise<readonly string[]> {
  const ids = await world.enqueue(...subjects.map((subject) => erase(subject)));
  await runnerOn(world, [eraser("stripe", () => Promise.reject(new ResolverError("no_access")))]).runOnce();
  return ids;
}

onEachDatabase((database) => {
  it("[O-16] an abandoned erase entry gets a fresh budget under the same id, with one event", async () => {
    const world = await shop(database);
    const [id] = (await abandon(world, "u-1")) as [string];
    const flipped = await world.outbox.requeue([id], { reason: "key renewed", by: "ops" });
    expect(flipped).toMatchObject([
      { entryId: id, status: "pending", attempts: 0, lastError: undefined, requeues: 1 },
    ]);
    expect(await world.row(id)).toMatchObject({
      status: "pending",
      gate_ms: null,
      attempts: 0,
      last_error: null,
    });
    const { events } = await new AuditTrail(world.db).list({ types: ["ERASURE_REQUEUED"] });
    expect(events).toMatchObject([
      {
        subjectId: "u-1",
        payload: {
          entry_id: id,
          resolver: "stripe",
          prior_attempts: 1,
          prior_error: "no_access",
          reason: "key renewed",
          by: "ops",
        },
      },
    ]);
    const stripe = eraser("stripe");
    await runnerOn(world, [stripe]).runOnce();
    expect(stripe.calls).toMatchObject([{ key: id, attempt: 1 }]);
  });

  it("[O-16] unknown ids and entries that are not abandoned are skipped; asking twice is success", async () => {
    const world = await shop(database);
    const [one, two] = (await abandon(world, "u-1", "u-2")) as [string, string];
    const [pending] = (await world.enqueue(erase("u-3"))) as [string];
    expect(await world.outbox.requeue([])).toEqual([]);
    const first = await world.outbox.requeue([two, one, UNKNOWN, pending, one.toUpperCase()]);
    expect(first.map(({ entryId }) => entryId)).toEqual([one, two].toSorted());
    expect(await world.outbox.requeue([one, two])).toEqual([]);
    expect((await world.trail()).filter((type) => type === "ERASURE_REQUEUED")).toHaveLength(2);
    await expect(world.outbox.requeue(["seven"])).rejects.toMatchObject({ code: "BAD_ID" });
    await expect(world.outbox.requeue([one], { why: "x" } as never)).rejects.toMatchObject({
      code: "BAD_OPTION",
    });
  });

  it("[O-16] an abandoned rectification among the ids is refused before anything is written", async () => {
    const world = await shop(database);
    const [fine] = (await abandon(world, "u-1")) as [string];
    const [rectification] = (await world.enqueue(rectify("u-2", "x", "crm"))) as [string];
    await runnerOn(world, [rectifier("crm", () => Promise.reject(new ResolverError("no")))]).runOnce();
    const before = await world.trail();
    const refusal = world.outbox.requeue([fine, rectification]);
    await expect(refusal).rejects.toBeInstanceOf(ConfigurationError);
    await expect(refusal).rejects.toMatchObject({
      code: "CONFIGURATION",
      details: { entryIds: [rectification] },
    });
    expect((await world.row(fine))["status"]).toBe("abandoned");
    expect(await world.trail()).toEqual(before);
  });

  it("[O-16] an outbox without an audit sink refuses", async () => {
    const world = await shop(database);
    const [id] = (await abandon(world, "u-1")) as [string];
    const bare = await shop(database, { audit: undefined as never });
    await expect(bare.outbox.requeue([id])).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect((await world.row(id))["status"]).toBe("abandoned");
  });

  it("[O-16] a foreign sink is told first; while it is down nothing is requeued", async () => {
    const told: KeyedAuditEvent[] = [];
    let isDown = true;
    const audit: AuditSink = {
      append: async (events) => {
        if (isDown) throw new Error("down");
        told.push(...events);
      },
    };
    const world = await shop(database, { audit });
    const [id] = (await abandon(world, "u-1")) as [string];
    await expect(world.outbox.requeue([id])).rejects.toThrow("down");
    expect((await world.row(id))["status"]).toBe("abandoned");
    isDown = false;
    expect(await world.outbox.requeue([id])).toHaveLength(1);
    expect(told).toMatchObject([{ type: "ERASURE_REQUEUED", dedupeKey: `${id}:ERASURE_REQUEUED:0` }]);
    expect((await world.row(id))["status"]).toBe("pending");
  });

  it("[O-16] requeues that race flip each entry once, with one event each", async () => {
    const world = await shop(database);
    const ids = await abandon(world, ...Array.from({ length: 10 }, (_, index) => `u-${index}`));
    const flips = await Promise.all(
      Array.from({ length: 8 }, (_, index) => world.outbox.requeue(index % 2 ? ids : ids.toReversed())),
    );
    expect(
      flips
        .flat()
        .map(({ entryId }) => entryId)
        .toSorted(),
    ).toEqual(ids.toSorted());
    expect((await world.trail()).filter((type) => type === "ERASURE_REQUEUED")).toHaveLength(10);
  });
});
