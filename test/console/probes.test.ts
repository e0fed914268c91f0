/** What a worker answers to probes, beside what the real process shows in test/cli/probes.test.ts. */
import { expect, it, onTestFinished } from "vitest";
import type { Health } from "../../src/console/contract.ts";
import { listenForProbes, type ProbeServer } from "../../src/console/health/probes.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { openShop } from "./support/shop.ts";

async function ready({
  url,
}: ProbeServer): Promise<readonly [status: number, body: Pick<Required<Health>, "checks">]> {
  const response = await fetch(`${url}readyz`);
  return [response.status, (await response.json()) as Required<Health>];
}

onEachDatabase((database) => {
  it("[C-11] a process whose worker does not run yet is alive and not ready", async () => {
    const { amends } = await openShop(database, { clock: virtualClock() });
    const probes = await listenForProbes(amends, { port: 0 });
    onTestFinished(() => probes.close());
    expect((await fetch(`${probes.url}livez`)).status).toBe(200);
    const [status, { checks }] = await ready(probes);
    expect(status).toBe(503);
    expect(checks).toContainEqual({ name: "worker", ok: false, detail: "is not running yet" });
  });

  it("[C-11] readiness fails while due work lies still for longer than stuckAfter", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    const probes = await listenForProbes(shop.amends, { port: 0, stuckAfter: "1m" });
    onTestFinished(() => probes.close());
    await shop.amends.start(shop.order, { orderId: "o-1", end: "COMPLETED" }, { id: "o-1" });
    const sagas = async (): Promise<boolean | undefined> => {
      const [, { checks }] = await ready(probes);
      return checks.find(({ name }) => name === "due sagas")?.ok;
    };
    await clock.advance(59_000);
    expect(await sagas()).toBe(true);
    await clock.advance(2_000);
    expect(await sagas()).toBe(false);
  });
});
