/** What the events about an entry say: the facts of their payloads. */
import { AuditTrail, type AuditEvent } from "amends/audit";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop, type Shop } from "./support/shop.ts";
import { eraser, keeper, rectifier } from "./support/systems.ts";

const HOUR = 3_600_000;

async function facts({ db }: Shop, type: AuditEvent["type"]): Promise<readonly AuditEvent["payload"][]> {
  const { events } = await new AuditTrail(db).list({ types: [type] });
  return events.map(({ payload }) => payload);
}

onEachDatabase((database) => {
  it("[O-07] a success says whether there was anything left to erase or to correct", async () => {
    const world = await shop(database);
    const gone = eraser("gone", () => ({ alreadyAbsent: true }));
    const right = rectifier("right", () => Promise.resolve({ alreadyConsistent: true }));
    const runner = runnerOn(world, [gone, right, eraser("stripe"), rectifier("crm")]);
    await world.enqueue(erase("u-1", "gone"), erase("u-2"));
    await world.enqueue(rectify("u-3", "x", "right"), rectify("u-4", "x", "crm"));
    await runner.runOnce();
    const erased = await facts(world, "ERASURE_STEP_SUCCEEDED");
    expect(new Set(erased.map((one) => `${one["resolver"]} ${one["already_absent"]}`))).toEqual(
      new Set(["gone true", "stripe false"]),
    );
    const corrected = await facts(world, "RECTIFICATION_STEP_SUCCEEDED");
    expect(new Set(corrected.map((one) => `${one["resolver"]} ${one["already_consistent"]}`))).toEqual(
      new Set(["right true", "crm false"]),
    );
    expect(Object.keys(erased[0] ?? {})).not.toContain("verified_expiry");
  });

  it("[O-11] a parked entry's event has the horizon and the struggle before it, its success that the expiry was verified", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const expiresAt = new Date(clock.virtualNowMs() + 48 * HOUR);
    const answers = [
      () => Promise.reject(new TypeError("busy")),
      () => ({ expiresAt }),
      () => ({ alreadyAbsent: true }) as const,
    ];
    const runner = runnerOn(world, [keeper("logs", () => answers.shift()?.() as never)]);
    const [entryId] = await world.enqueue(erase("u-1", "logs"));
    for (const hours of [1, 48, 0]) {
      expect(await runner.runOnce()).toBe(1);
      await clock.advance(hours * HOUR);
    }
    expect(await facts(world, "ERASURE_EXPIRY_SCHEDULED")).toEqual([
      {
        entry_id: entryId,
        resolver: "logs",
        attempts: 2,
        expires_at: expiresAt.toISOString(),
        horizon: 1,
        prior_error: "TypeError",
      },
    ]);
    expect(await facts(world, "ERASURE_STEP_SUCCEEDED")).toEqual([
      { entry_id: entryId, resolver: "logs", attempts: 1, already_absent: true, verified_expiry: true },
    ]);
  });
});
