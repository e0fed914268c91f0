import { err, saga, signal } from "amends";
import { event } from "amends/events";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";

const Order = z.object({ order: z.string() });
const HOUR_MS = 3_600_000;
const cancel = signal("cancel", z.object({ why: z.string() }));
const change = signal("change", z.object({ to: z.string() }));
const Paid = event("Paid", z.object({ order: z.string(), cents: z.number() }));

function order() {
  return saga("order", Order)
    .waitFor("decision", {
      any: {
        paid: { event: Paid, where: "order", equals: ({ input }) => input.order },
        cancelled: { signal: cancel },
        changed: { signal: change },
        late: "2h",
        later: "3h",
      },
    })
    .step("last", {
      act: ({ results: { decision } }) => {
        if (decision.which === "paid") return `paid ${decision.value.cents}`;
        return decision.which === "cancelled" ? err(decision.value.why) : decision.which;
      },
    });
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-37] an event, a signal or time: what comes first ends the wait, and the result says which it was", async () => {
    const clock = virtualClock();
    const waiting = order();
    const amends = await database.amends({ sagas: [waiting], events: [], clock });
    const ids = ["paid", "cancelled", "late"];
    const runs = await Promise.all(ids.map((id) => amends.start(waiting, { order: id }, { id })));
    await amends.worker().runOnce();
    const look = await onlooker(database);
    for (const id of ids) expect(await look.row(id)).toMatchObject({ owner: null, status: "RUNNING" });
    await amends.events.publish(Paid({ order: "paid", cents: 7 }));
    await amends.signal("cancelled", cancel, { why: "changed my mind" });
    // The first run hands the event to the saga, the second runs the saga.
    for (let run = 0; run < 2; run++) await amends.worker().runOnce();
    const [paid, cancelled, late] = runs;
    expect(await paid?.result()).toMatchObject({
      status: "COMPLETED",
      results: { decision: { which: "paid", value: { order: "paid", cents: 7 } }, last: "paid 7" },
    });
    expect(await cancelled?.result()).toMatchObject({
      status: "FAILED",
      error: { kind: "err", value: "changed my mind" },
    });
    clock.jump(2 * HOUR_MS - 1);
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(2);
    await amends.worker().runOnce();
    expect(await late?.result()).toMatchObject({ results: { decision: { which: "late" }, last: "late" } });
  });

  it("[S-37] the earliest by the database's order wins, though the worker sees all of them at once", async () => {
    const clock = virtualClock();
    const waiting = order();
    const amends = await database.amends({ sagas: [waiting], events: [], clock });
    const start = async (id: string): Promise<void> => {
      await amends.start(waiting, { order: id }, { id });
      await amends.worker().runOnce();
    };
    const which = async (id: string): Promise<unknown> => (await amends.inspect(id))?.results["decision"];
    for (const id of ["time-first", "signal-first", "two-signals"]) await start(id);
    clock.jump(HOUR_MS);
    await amends.signal("signal-first", change, { to: "x" });
    await amends.signal("two-signals", change, { to: "x" });
    await amends.signal("two-signals", cancel, { why: "y" });
    clock.jump(HOUR_MS + 1);
    await amends.signal("time-first", change, { to: "x" });
    await amends.worker().runOnce();
    expect(await which("time-first")).toEqual({ which: "late" });
    expect(await which("signal-first")).toMatchObject({ which: "changed" });
    expect(await which("two-signals")).toMatchObject({ which: "changed" });
  });

  it("[S-37] of what comes at the same instant, what is declared first wins", async () => {
    const clock = virtualClock();
    const make = (name: string, first: boolean) => {
      const changed = { changed: { signal: change } } as const;
      const late = { late: "2h" } as const;
      return saga(name, Order).waitFor("decision", {
        any: first ? { ...changed, ...late } : { ...late, ...changed },
      });
    };
    const sagas = [make("signal-declared-first", true), make("time-declared-first", false)];
    const amends = await database.amends({ sagas, clock });
    for (const one of sagas) await amends.start(one, { order: "o" }, { id: one.name });
    await amends.worker().runOnce();
    const look = await onlooker(database);
    for (const { name } of sagas) {
      const { gate_ms: dueMs } = await look.row(name);
      clock.jump(Number(dueMs) - clock.virtualNowMs());
      await amends.signal(name, change, { to: "x" });
    }
    await amends.worker().runOnce();
    const results = await Promise.all(sagas.map(({ name }) => amends.inspect(name)));
    expect(results.map((view) => view?.results["decision"])).toEqual([
      { which: "changed", value: { to: "x" } },
      { which: "late" },
    ]);
  });

  it("[S-37][S-25] what came too late stays kept for a later wait", async () => {
    const clock = virtualClock();
    const twice = saga("twice", Order)
      .waitFor("first", { any: { cancelled: { signal: cancel }, changed: { signal: change } } })
      .waitFor("second", { signal: cancel });
    const amends = await database.amends({ sagas: [twice], clock });
    const run = await amends.start(twice, { order: "o" }, { id: "o" });
    await amends.worker().runOnce();
    await amends.signal("o", change, { to: "x" });
    await amends.signal("o", cancel, { why: "kept" });
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({
      status: "COMPLETED",
      results: { first: { which: "changed", value: { to: "x" } }, second: { why: "kept" } },
    });
  });
});
