import { expect, it, vi } from "vitest";
import { virtualClock } from "amends/testing";

import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { parts } from "./support/parts.ts";
import { failed, onEachForm, stage, World } from "./support/stage.ts";

const OK = { ok: true, code: "http_200" };

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-19] a crowd in one lane takes only that lane's places", async () => {
    const { db, subscribe, publish, isSplit } = await stage(database);
    const busy = await subscribe("busy", { events: ["busy"], concurrency: 3 });
    const calm = await subscribe("calm", { events: ["calm"] });
    for (let n = 0; n < 30; n++) await publish("busy");
    await publish("calm");
    const { take, tell } = parts(db, { isSplit });
    const taken = await take(100);
    const of = (id: string): number => taken.filter(({ job }) => job.subscriptionId === id).length;
    expect([of(busy), of(calm)]).toEqual([3, 1]);
    expect(await take(100)).toEqual([]);
    for (const task of taken.slice(0, 2)) await tell(task, OK);
    expect((await take(100)).length).toBeGreaterThan(0);
  });

  it("[W-19] with less room than work, lanes take turns", async () => {
    const { db, subscribe, publish, isSplit } = await stage(database);
    for (const name of ["a", "b", "c"]) await subscribe(name);
    for (let n = 0; n < 4; n++) await publish();
    const { take } = parts(db, { isSplit });
    const lanes = async (): Promise<string> =>
      (await take(3))
        .map(({ job }) => job.subscriptionId)
        .toSorted()
        .join();
    expect([await lanes(), await lanes(), await lanes(), await lanes()]).toEqual(Array(4).fill("1,2,3"));
  });

  it("[W-19] a lane that failed last gets one place until it answers again", async () => {
    const { db, subscribe, publish, isSplit } = await stage(database);
    await subscribe("a");
    for (let n = 0; n < 9; n++) await publish();
    const { take, tell } = parts(db, { isSplit });
    const taken = await take();
    expect(taken).toHaveLength(4);
    const sent = {
      url: "x",
      sentAtMs: 1,
      status: 500,
      durationMs: 1,
      responseHeaders: null,
      responseBody: null,
    };
    const { deliverySender, write } = parts(db, { isSplit });
    for (const task of taken) await write(deliverySender.report(task, { ok: false, code: "http_500" }, sent));
    const [probe, ...others] = await take();
    expect([probe !== undefined, others]).toEqual([true, []]);
    if (probe) await tell(probe, OK);
    expect(await take()).toHaveLength(4);
  });

  it("[W-19] a rate is kept by due times that outlive the process", async () => {
    const clock = virtualClock();
    const first = await stage(database, {}, clock);
    await first.subscribe("a", { rate: { max: 2, per: "1s" }, concurrency: 2 });
    for (let n = 0; n < 6; n++) await first.publish();
    expect(await first.work()).toBe(1);
    const second = await stage(database, {}, clock);
    const arrivals: number[] = [];
    for (let ms = 0; ms < 3_000; ms += 100) arrivals.push(await second.later(100));
    expect(arrivals.reduce((sum, count) => sum + count)).toBe(5);
    expect(arrivals.flatMap((count, index) => (count > 0 ? [(index + 1) * 100] : []))).toEqual([
      500, 1000, 1500, 2000, 2500,
    ]);
  });

  it("[W-19] a rate is kept after a pause: what became due meanwhile does not go out at once", async () => {
    const { subscribe, publish, work, later } = await stage(database);
    await subscribe("a", { rate: { max: 1, per: "1s" }, concurrency: 8 });
    for (let n = 0; n < 12; n++) await publish();
    expect(await work()).toBe(1);
    const arrivals: number[] = [];
    for (const ms of [8_000, 0, 999, 1, 1_000, 60_000, 500, 500]) arrivals.push(await later(ms));
    expect(arrivals).toEqual([1, 0, 0, 1, 1, 1, 0, 1]);
  });

  it("[W-05][W-19] the same at a high rate, and where several workers come back together", async () => {
    const clock = virtualClock();
    const { subscribe, publish, later } = await stage(database, {}, clock);
    const other = await stage(database, {}, clock);
    await subscribe("a", { rate: { max: 100, per: "1s" }, concurrency: 64 });
    for (let n = 0; n < 9; n++) await publish();
    const counts: number[] = [];
    for (const ms of [0, 10, 10, 9_000, 9, 1, 25]) counts.push((await later(ms)) + (await other.work()));
    expect(counts).toEqual([1, 1, 1, 1, 0, 1, 2]);
  });

  it("[W-19] a worker looks when a rate lets the next one go, not only when it polls", async () => {
    const world = new World();
    const db = await database.open();
    const amends = await database.amends({ database: db, webhooks: { sender: world } });
    const rate = { max: 20, per: "1s" } as const;
    await amends.webhooks.subscribe({ url: "https://a.example/hook", events: ["*"], rate });
    await db.transaction(async (_, tx) => {
      for (let n = 0; n < 4; n++)
        await amends.webhooks.publish({ type: "order.placed", data: { n } }, { tx });
    });
    await database.worker(amends, { poll: "1h" });
    await vi.waitFor(() => expect(world.sent).toHaveLength(4), { timeout: 20_000 });
  });

  it("[W-19] in order, the next one waits until the one before has arrived or is dead", async () => {
    const { subscribe, publish, work, later, world } = await stage(database, { retry: { attempts: 2 } });
    await subscribe("a", { ordered: true });
    world.answer = ({ id }, nth) => (id === "e-1" && nth === 1 ? failed() : id === "e-3" ? failed() : {});
    for (let n = 1; n <= 4; n++) await publish("order.placed", { id: `e-${n}` });
    expect(await work()).toBe(1);
    expect(await later(29_999)).toBe(0);
    await later(1);
    await later(30_000);
    expect(world.sent.map(({ id }) => id)).toEqual(["e-1", "e-1", "e-2", "e-3", "e-3", "e-4"]);
  });

  it("[W-19] more lanes than one look takes are all served", async () => {
    const { amends, subscribe, publish, work, world } = await stage(database, { concurrency: 40 });
    for (let n = 0; n < 260; n++) await subscribe(`s${n}`);
    await publish();
    expect(await work()).toBe(260);
    expect(Object.keys(world.calls)).toHaveLength(260);
    expect(await amends.webhooks.deliveries({ status: "Completed", limit: 1000 })).toHaveLength(260);
  });
});
