import type { AuditSink } from "amends/audit";
import { ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, shop } from "./support/shop.ts";
import { eraser, keeper } from "./support/systems.ts";

onEachDatabase((database) => {
  it("[O-10] no outcome is recorded before its event is written: a success, an expiry and an abandonment wait for the sink", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    let isDown = true;
    const told: string[] = [];
    const audit: AuditSink = {
      append: async (events) => {
        if (isDown) throw new Error("the sink is down");
        told.push(...events.map(({ type }) => type));
      },
    };
    const expiresAt = new Date(clock.virtualNowMs() + 86_400_000);
    const refuses = eraser("crm", () => Promise.reject(new ResolverError("no")));
    const systems = [eraser("stripe"), refuses, keeper("logs", () => ({ expiresAt }))];
    const runner = runnerOn({ ...world, audit: audit as never }, systems);
    await world.enqueue(...systems.map(({ name }) => erase("u-1", name)));
    expect(await runner.runOnce()).toBe(3);
    expect(await world.outbox.statusCounts()).toMatchObject({ in_flight: 3 });
    isDown = false;
    await clock.advance(300_000);
    expect(await runner.runOnce()).toBe(3);
    expect(await world.outbox.statusCounts()).toMatchObject({ succeeded: 1, abandoned: 1, scheduled: 1 });
    expect(told.toSorted()).toEqual([
      "ERASURE_EXPIRY_SCHEDULED",
      "ERASURE_STEP_FAILED",
      "ERASURE_STEP_SUCCEEDED",
    ]);
  });
});
