import { expect, it } from "vitest";
import { virtualClock } from "amends/testing";
import { onEachDatabase } from "../support/databases.ts";
import { watched } from "../sagas/support/watched.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { World } from "./support/stage.ts";

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[K-04] a lone delivery costs two commits after its publication; many share them", async () => {
    const { database: db, commits } = watched(await database.open({ clock: virtualClock() }));
    const world = new World();
    const amends = await database.amends({ database: db, webhooks: { sender: world } });
    await amends.webhooks.subscribe({ url: "https://a.example", events: ["*"], concurrency: 256 });
    const publish = (): Promise<unknown> =>
      db.transaction((_, tx) => amends.webhooks.publish({ type: "order.placed", data: {} }, { tx }));
    await publish();
    commits();
    const worker = amends.worker();
    expect(await worker.runOnce()).toBe(1);
    expect(commits()).toBe(2);
    expect(await worker.runOnce()).toBe(0);
    expect(commits()).toBe(0);
    for (let n = 0; n < 100; n++) await publish();
    commits();
    expect(await worker.runOnce()).toBe(100);
    expect(commits()).toBeLessThanOrEqual(10);
  });

  it("[K-10] no transaction is open while a request is under way", async () => {
    const inner = await database.open({ clock: virtualClock(), connections: 1 });
    const world = new World();
    const amends = await database.amends({ database: inner, webhooks: { sender: world } });
    await amends.webhooks.subscribe({ url: "https://a.example", events: ["*"] });
    const publish = (): Promise<unknown> =>
      inner.transaction((_, tx) => amends.webhooks.publish({ type: "order.placed", data: {} }, { tx }));
    // With one connection this could never end if the delivery held it.
    world.answer = async (_, nth) => (nth === 1 ? (await publish(), {}) : {});
    await publish();
    const worker = amends.worker();
    while ((await worker.runOnce()) > 0);
    expect(world.sent).toHaveLength(2);
  });
});
