/** What a list shows of a run: the state of each step, the last error, and crashes that it survived. */
import { err, saga, signal, Terminal } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { SagaDetail, SagaLine, SagaPage } from "../../src/console/contract.ts";
import { gatekeeper } from "../operate/support/hold.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { openShop } from "./support/shop.ts";
import { visit, type Visit } from "./support/visit.ts";

const LEASE_MS = 60_000;

/** The line in the list; the page of the saga must say the same. */
async function lineOf({ get }: Pick<Visit, "get">, id: string): Promise<SagaLine> {
  const { items } = await get<SagaPage>("reader", "/api/sagas");
  const line = items.find((one) => one.id === id) as SagaLine;
  const { steps, lastError, recoveries } = await get<SagaDetail>("reader", `/api/sagas/${id}`);
  expect({ steps, lastError, recoveries }).toEqual({
    steps: line.steps,
    lastError: line.lastError,
    recoveries: line.recoveries,
  });
  return line;
}

const shown = ({ steps }: SagaLine): string => steps.map(({ name, state }) => `${name} ${state}`).join(", ");

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[P-04] the list says of each step what became of it, and which error came last", async () => {
    const shop = await openShop(database);
    for (const end of ["COMPLETED", "FAILED", "STALLED"] as const) await shop.run(end, end);
    await shop.amends.start(shop.order, { orderId: "new", end: "COMPLETED" }, { id: "new" });
    const here = visit(shop.amends);
    const looks = async (id: string): Promise<readonly (string | null)[]> => {
      const line = await lineOf(here, id);
      return [shown(line), line.lastError];
    };
    expect(await looks("COMPLETED")).toEqual(["reserve done, charge done, ship done", null]);
    expect(await looks("FAILED")).toEqual(["reserve undone, charge undone, ship failed", "no-stock"]);
    expect(await looks("STALLED")).toEqual(["reserve undone, charge undo-failed, ship failed", "RangeError"]);
    expect(await looks("new")).toEqual(["reserve none, charge none, ship none", null]);
    await shop.amends.skip("STALLED", "charge", { reason: "refunded by hand" });
    await shop.amends.worker().runOnce();
    expect(await looks("STALLED")).toEqual(["reserve undone, charge skipped, ship failed", "no-stock"]);
  });

  it("[P-04] a step that runs, is retried or gave way to its fallback is shown as such", async () => {
    const held = gate();
    let isDown = true;
    const order = saga("order", z.object({}), { retry: { attempts: 3, base: "1h" } })
      .step("quote", {
        act: () => {
          if (isDown) throw new RangeError("down");
        },
      })
      .step("charge", {
        act: () => {
          throw new Terminal("no");
        },
        fallback: { name: "invoice", act: () => undefined },
      })
      .step("ship", { act: () => held.pass() });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    const here = visit(amends);
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    const retried = await lineOf(here, "o-1");
    expect([shown(retried), retried.lastError]).toEqual([
      "quote retrying, charge none, invoice none, ship none",
      "RangeError",
    ]);
    isDown = false;
    await clock.advance(2 * 3_600_000);
    const running = amends.worker().runOnce();
    await held.reached;
    const line = await lineOf(here, "o-1");
    expect(shown(line)).toBe("quote done, charge failed, invoice done, ship running");
    expect(line.recoveries).toBe(0);
    held.open();
    await running;
    expect(shown(await lineOf(here, "o-1"))).toBe("quote done, charge failed, invoice done, ship done");
  });

  it("[P-04] a saga that waits says for what and until when, and one whose call does not return says since when", async () => {
    const held = gate();
    const clock = virtualClock();
    const approved = signal("approved", z.object({}));
    const order = saga("order", z.object({})).waitFor("approval", { signal: approved, timeout: "3d" });
    const nap = saga("nap", z.object({})).sleep("night", "8h");
    const late = saga("late", z.object({})).step("fetch", {
      timeout: "5s",
      retry: { attempts: 1 },
      act: () => held.pass(),
    });
    const amends = await database.amends({ sagas: [order, nap, late], clock });
    const startedMs = clock.virtualNowMs();
    await amends.start(order, {}, { id: "order" });
    await amends.start(nap, {}, { id: "nap" });
    await amends.start(late, {}, { id: "late" });
    const worker = await database.worker(amends);
    await held.reached;
    const { get } = visit(amends);
    const seen = async (id: string): Promise<unknown> => {
      const { waiting, running } = await get<SagaDetail>("reader", `/api/sagas/${id}`);
      return waiting ?? running;
    };
    const at = (ms: number): string => new Date(startedMs + ms).toISOString();
    await expect.poll(() => seen("order")).not.toBeNull();
    expect(await seen("order")).toMatchObject({
      step: "approval",
      kind: "signal",
      for: "approved",
      since: at(0),
      until: at(3 * 86_400_000),
    });
    await expect
      .poll(() => seen("nap"))
      .toMatchObject({ kind: "sleep", for: null, until: at(8 * 3_600_000) });
    while ((await seen("late")) === null) await clock.advance(1_000);
    expect(await seen("late")).toMatchObject({ step: "fetch", since: at(0) });
    held.open();
    await worker.stop();
  });

  it("[P-04] a saga that another worker took over after a crash says so, also once it has completed", async () => {
    const held = gate();
    const order = saga("order", z.object({}))
      .step("reserve", { act: ({ attempt }) => (attempt === 1 ? held.pass() : undefined) })
      .step("ship", { act: () => undefined });
    const first = await database.amends({ sagas: [order], clock: virtualClock() });
    await database.worker(first);
    await first.start(order, {}, { id: "o-1" });
    await held.reached;
    const later = virtualClock();
    later.jump(LEASE_MS);
    const second = await database.amends({ sagas: [order], clock: later });
    await second.worker().runOnce();
    const line = await lineOf(visit(second), "o-1");
    expect([line.status, line.recoveries]).toEqual(["COMPLETED", 1]);
    held.open();
  });

  it("[P-04] a saga that backs off or sleeps is not counted as recovered", async () => {
    let isDown = true;
    const clock = virtualClock();
    const order = saga("order", z.object({}), { retry: { attempts: 3, base: "1h" } })
      .step("quote", {
        act: () => {
          if (isDown) throw new RangeError("down");
        },
      })
      .sleep("night", "8h")
      .step("ship", { act: () => err("full") });
    const amends = await database.amends({ sagas: [order], clock });
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    isDown = false;
    for (let hours = 0; hours < 24; hours += 6) {
      await clock.advance(6 * 3_600_000);
      await amends.worker().runOnce();
    }
    const line = await lineOf(visit(amends), "o-1");
    expect([line.status, line.lastError, line.recoveries]).toEqual(["FAILED", "full", 0]);
  });
});
