import type { AuditSink, KeyedAuditEvent, TransactionalSink } from "amends/audit";
import { ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { forEver } from "../sagas/support/gate.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, shop, type Shop } from "./support/shop.ts";
import { eraser } from "./support/systems.ts";

const LEASE_MS = 300_000;

/** A sink elsewhere: it notes what it is told, and what the outbox says at that moment. */
function sinkOf(
  fails: (event: KeyedAuditEvent) => boolean = () => false,
): AuditSink & { readonly told: KeyedAuditEvent[] } {
  const told: KeyedAuditEvent[] = [];
  return {
    told,
    append: async (events) => {
      if (events.some(fails)) throw new Error("the sink is down");
      told.push(...events);
    },
  };
}

const withSink = (world: Shop, audit: AuditSink | TransactionalSink) => ({ ...world, audit: audit as never });

onEachDatabase((database) => {
  it("[O-10] with the database's sink event and status are one commit: a sink that fails takes both back", async () => {
    const world = await shop(database);
    const audit: TransactionalSink = {
      appendIn: async (session, events) => {
        await world.audit.appendIn(session, events);
        if (events.some(({ subjectId }) => subjectId === "bad")) throw new Error("no");
      },
    };
    const [bad, fine] = await world.enqueue(erase("bad"), erase("fine"));
    await runnerOn(withSink(world, audit), [eraser("stripe")]).runOnce();
    expect((await world.row(bad as string))["status"]).toBe("in_flight");
    expect(await world.trail("bad")).toEqual([]);
    // One that fails never costs the batch.
    expect((await world.row(fine as string))["status"]).toBe("succeeded");
    expect(await world.trail("fine")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
  });

  it("[O-10] an abandonment and its event are one commit too: a sink that fails takes both back", async () => {
    const world = await shop(database);
    let isDown = true;
    const audit: TransactionalSink = {
      appendIn: async (session, events) => {
        await world.audit.appendIn(session, events);
        if (isDown) throw new Error("no");
      },
    };
    const gone = eraser("stripe", () => Promise.reject(new ResolverError("Gone")));
    const [id] = await world.enqueue(erase("u-1"));
    await runnerOn(withSink(world, audit), [gone]).runOnce();
    expect((await world.row(id as string))["status"]).toBe("in_flight");
    expect(await world.trail("u-1")).toEqual([]);
    isDown = false;
    const [other] = await world.enqueue(erase("u-2"));
    await runnerOn(withSink(world, audit), [gone]).runOnce();
    expect((await world.row(other as string))["status"]).toBe("abandoned");
    expect(await world.trail("u-2")).toEqual(["ERASURE_STEP_FAILED"]);
  });

  it("[O-10] a foreign sink is told before the status changes", async () => {
    const world = await shop(database);
    const statuses: unknown[] = [];
    const [id] = await world.enqueue(erase("u-1"));
    const audit: AuditSink = {
      append: async ([event]) => void statuses.push(event?.type, (await world.row(id as string))["status"]),
    };
    await runnerOn(withSink(world, audit), [eraser("stripe")]).runOnce();
    expect(statuses).toEqual(["ERASURE_STEP_SUCCEEDED", "in_flight", "ERASURE_COMPLETED", "in_flight"]);
    expect((await world.row(id as string))["status"]).toBe("succeeded");
  });

  it("[O-10] a sink that is down leaves the entry claimed until its lease is over; then it converges", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    let isDown = true;
    const audit = sinkOf(() => isDown);
    const runner = runnerOn(withSink(world, audit), [eraser("stripe")]);
    const [id] = await world.enqueue(erase("u-1"));
    expect(await runner.runOnce()).toBe(1);
    expect(await world.row(id as string)).toMatchObject({ status: "in_flight", attempts: 0 });
    await clock.advance(LEASE_MS - 1);
    expect(await runner.runOnce()).toBe(0);
    isDown = false;
    await clock.advance(1);
    expect(await runner.runOnce()).toBe(1);
    expect(audit.told.map(({ type }) => type)).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
  });

  it.each(["foreign", "transactional"])(
    "[O-10] [K-07] a %s sink that is down for longer than the budget of attempts abandons no entry whose call succeeded",
    async (kind) => {
      const clock = virtualClock();
      const world = await shop(database, { clock });
      let isDown = true;
      const foreign = sinkOf(() => isDown);
      const transactional: TransactionalSink = {
        appendIn: async (session, events) => {
          if (isDown) throw new Error("the sink is down");
          await world.audit.appendIn(session, events);
        },
      };
      const stripe = eraser("stripe");
      const audit = kind === "foreign" ? foreign : transactional;
      const runner = runnerOn(withSink(world, audit), [stripe], { maxAttempts: 3 });
      const [id] = await world.enqueue(erase("u-1"));
      for (let lapse = 1; lapse <= 6; lapse++) {
        expect(await runner.runOnce()).toBe(1);
        expect(await world.row(id as string)).toMatchObject({ status: "in_flight", attempts: 0 });
        await clock.advance(LEASE_MS);
      }
      isDown = false;
      expect(await runner.runOnce()).toBe(1);
      expect(await world.row(id as string)).toMatchObject({ status: "succeeded", attempts: 1 });
      const told = kind === "foreign" ? foreign.told.map(({ type }) => type) : await world.trail("u-1");
      expect(told).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
      expect(stripe.calls).toHaveLength(7);
    },
  );

  it("[O-10] [O-13] if announcing the completion fails, the success is not recorded either; the repetition has the same keys", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    let isDown = true;
    const audit = sinkOf(({ type }) => isDown && type === "ERASURE_COMPLETED");
    const runner = runnerOn(withSink(world, audit), [eraser("stripe"), eraser("crm")]);
    await world.enqueue(erase("u-1"), erase("u-1", "crm"));
    await runner.runOnce();
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 1, in_flight: 1 });
    isDown = false;
    await clock.advance(LEASE_MS);
    await runner.runOnce();
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 2 });
    const keys = audit.told.map(({ dedupeKey }) => dedupeKey);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(3);
    expect(audit.told.filter(({ type }) => type === "ERASURE_COMPLETED")).toHaveLength(1);
  });

  it("[O-10][O-16] what happens after a requeue has a key of its own: a sink that drops repetitions keeps both", async () => {
    const world = await shop(database);
    const audit = sinkOf();
    const broken = eraser("stripe", () => Promise.reject(new ResolverError("gone")));
    const [id] = await world.enqueue(erase("u-1"));
    await runnerOn(withSink(world, audit), [broken]).runOnce();
    expect(await world.outbox.requeue([id as string])).toMatchObject([{ entryId: id }]);
    await runnerOn(withSink(world, audit), [broken]).runOnce();
    const failures = audit.told.filter(({ type }) => type === "ERASURE_STEP_FAILED");
    expect(failures).toHaveLength(2);
    expect(new Set(failures.map(({ dedupeKey }) => dedupeKey)).size).toBe(2);
  });

  it("[K-17] one entry whose event the sink refuses does not cost the batch", async () => {
    const world = await shop(database);
    const audit = sinkOf(({ subjectId }) => subjectId === "u-3");
    await world.enqueue(...Array.from({ length: 6 }, (_, index) => erase(`u-${index}`)));
    expect(await runnerOn(withSink(world, audit), [eraser("stripe")]).runOnce()).toBe(6);
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 5, in_flight: 1 });
  });

  it("[K-10] a sink that hangs holds no transaction, and is not waited for longer than a call", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock, connections: 1 });
    const audit: AuditSink = { append: forEver };
    const [id] = await world.enqueue(erase("u-1"));
    const running = runnerOn(withSink(world, audit), [eraser("stripe")], { callTimeout: "10s" }).runOnce();
    await expect.poll(async () => (await world.row(id as string))["status"]).toBe("in_flight");
    await clock.advance(10_000);
    expect(await running).toBe(1);
    expect((await world.row(id as string))["status"]).toBe("in_flight");
  });

  it("[O-10] two entries of one request that end together announce its completion once", async () => {
    const world = await shop(database);
    const audit = sinkOf();
    const names = ["a", "b", "c", "d"];
    await world.enqueue(...names.map((name) => erase("u-1", name)));
    await runnerOn(
      withSink(world, audit),
      names.map((name) => eraser(name)),
    ).runOnce();
    expect(audit.told.filter(({ type }) => type === "ERASURE_COMPLETED")).toHaveLength(1);
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 4 });
  });
});
