import { nthClaim } from "../support/claims.ts";
import { expect, it, vi } from "vitest";
import { virtualClock } from "amends/testing";

import { forEver, gate } from "../sagas/support/gate.ts";
import { sql } from "../../src/storage/sql.ts";
import { advanceWithRenewals, watchedClock } from "../support/watched-clock.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { parts } from "./support/parts.ts";
import { onEachForm, stage, World } from "./support/stage.ts";

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-11] a job whose worker vanished is leased again, then fails by itself, and its delivery goes on", async () => {
    const clock = virtualClock();
    const { amends, db, subscribe, publish, work, later, world, states, isSplit } = await stage(
      database,
      { recoveries: 2 },
      clock,
    );
    await subscribe("a");
    await publish();
    // Three workers take it, one after the other, and never say anything again.
    for (let leases = 1; leases <= 3; leases++) {
      expect(await parts(db, { isSplit }).take()).toMatchObject([{ job: { leases, attempt: 1 } }]);
      expect(await work()).toBe(0);
      clock.jump(60_001);
    }
    expect(await states()).toEqual(["InProgress 0"]);
    expect(await work()).toBe(1);
    expect(world.sent).toEqual([]);
    expect(await states()).toEqual(["PendingRetry 1"]);
    const [delivery] = await amends.webhooks.deliveries();
    expect(delivery?.errorCode).toBe("lease_expired");
    expect(await later(30_000)).toBe(1);
    expect(await states()).toEqual(["Completed 2"]);
  });

  it("[W-11] a job that lost its worker comes before new ones, however many are due", async () => {
    const clock = virtualClock();
    const { worker, db, subscribe, publish, world, rows, isSplit } = await stage(
      database,
      { concurrency: 1 },
      clock,
    );
    await subscribe("a");
    await publish("order.lost");
    expect(await parts(db, { isSplit }).take()).toMatchObject([{ job: { leases: 1 } }]);
    for (let n = 0; n < 5; n++) await publish("order.later");
    clock.jump(60_001);
    expect(await worker().runOnce()).toBeGreaterThan(0);
    expect(world.sent[0]?.body).toContain("order.lost");
    expect((await rows("webhook_jobs"))[0]).toMatchObject({
      status: "Completed",
      attempts: 2,
      token: nthClaim(2),
    });
  });

  it("[W-11][K-06] a worker that gives a job back after another one has leased it gives nothing back", async () => {
    const clock = virtualClock();
    const { db, isSplit, subscribe, publish, rows } = await stage(database, {}, clock);
    await subscribe("a");
    await publish();
    const late = parts(db, { isSplit, owner: "late" });
    const [lost] = await late.take();
    clock.jump(60_001);
    const next = parts(db, { isSplit, owner: "next" });
    const [held] = await next.take();
    if (!lost || !held) throw new Error("nothing was due");
    const before = await rows("webhook_jobs");
    expect(before).toMatchObject([{ status: "Leased", owner: "next", attempts: 2, token: nthClaim(2) }]);
    await late.jobs.release(db, lost);
    expect(await rows("webhook_jobs")).toEqual(before);
    await next.jobs.release(db, held);
    expect(await rows("webhook_jobs")).toMatchObject([{ status: "Pending", owner: null, attempts: 1 }]);
  });

  it("[W-11][K-08] a slow call keeps its lease, and nobody else calls", async () => {
    const clock = watchedClock();
    const held = gate();
    const world = new World();
    world.answer = async () => (await held.pass(), {});
    const first = await stage(database, { sender: world, lease: "1s" }, clock);
    const second = await stage(database, { sender: world, lease: "1s" }, clock);
    await first.subscribe("a");
    await first.publish();
    const running = first.worker().runOnce();
    await held.reached;
    const lease = async (): Promise<unknown> => (await first.rows("webhook_jobs"))[0]?.["next_attempt_at"];
    for (let beat = 0; beat < 40; beat++) {
      const before = JSON.stringify(await lease());
      await advanceWithRenewals(clock, 125, 125);
      expect(JSON.stringify(await lease())).not.toBe(before);
    }
    expect(await second.work()).toBe(0);
    held.open();
    await running;
    expect(world.sent).toHaveLength(1);
    expect(await first.states()).toEqual(["Completed 1"]);
  });

  it("[W-07][K-06] whoever answers after another has taken over changes nothing", async () => {
    const held = gate();
    const slow = new World();
    slow.answer = async () => (await held.pass(), {});
    const clock = virtualClock();
    const first = await stage(database, { sender: slow }); // its clock stands still: it never renews
    const second = await stage(database, {}, clock);
    await first.subscribe("a");
    await first.publish();
    const running = first.worker().runOnce();
    await held.reached;
    second.world.answer = () => ({ ok: false, code: "http_500" });
    expect(await second.later(60_001)).toBe(1);
    expect(await first.states()).toEqual(["PendingRetry 1"]);
    held.open();
    await running;
    expect(await first.states()).toEqual(["PendingRetry 1"]);
    expect((await first.rows("webhook_attempts")).map((row) => [row["verdict"], row["code"]])).toEqual([
      ["accepted", "http_500"],
      ["late", "http_200"],
    ]);
  });

  it("[K-04][K-06] after a failover that lost a job, its sender settles no other job that got its number", async () => {
    const [lost, other] = [gate(), gate()];
    const [slow, next] = [new World(), new World()];
    slow.answer = async () => (await lost.pass(), {});
    next.answer = async () => (await other.pass(), { ok: false, code: "http_500" });
    const first = await stage(database, { sender: slow });
    const second = await stage(database, { sender: next });
    await first.subscribe("a");
    await first.publish();
    const running = first.worker().runOnce();
    await lost.reached;
    // The database is as it was before that job, and counts its jobs from there.
    const { dialect } = first.db;
    await first.query(sql`delete from ${dialect.table("webhook_jobs")}`);
    await first.query(
      sql`update ${dialect.table("webhook_delivery_sagas")} set status = 'Pending', next_attempt_at = ${dialect.now()}`,
    );
    await first.query(
      dialect.pick({
        postgres: sql`select setval(pg_get_serial_sequence('amends.webhook_jobs', 'id'), 1, false)`,
        sqlite: sql`update sqlite_sequence set seq = 0 where name = 'amends_webhook_jobs'`,
      }),
    );
    const rerun = second.worker().runOnce();
    await other.reached;
    expect((await first.rows("webhook_jobs")).map((row) => Number(row["id"]))).toEqual([1]);
    lost.open();
    await running;
    expect(await first.states()).toEqual(["InProgress 0"]);
    other.open();
    await rerun;
    await second.work();
    expect(await first.states()).toEqual(["PendingRetry 1"]);
  });

  it("[K-18] a call that a shutdown stops has no outcome: the job is given back and does not count", async () => {
    const { worker: workers, subscribe, publish, world, states, rows, work } = await stage(database);
    const reached = gate();
    world.answer = ({ stop }) =>
      new Promise((resolve) => {
        void reached.pass();
        stop?.onStop(() => resolve({ ok: false, code: "aborted" }));
      });
    await subscribe("a");
    await publish();
    const worker = workers();
    await worker.start();
    await reached.reached;
    await worker.stop({ deadline: 0 });
    expect(await states()).toEqual(["InProgress 0"]);
    // A stop that may wait for nothing does not wait for this commit either.
    await vi.waitFor(async () =>
      expect(await rows("webhook_jobs")).toMatchObject([{ status: "Pending", attempts: 0, owner: null }]),
    );
    expect(await rows("webhook_attempts")).toEqual([]);
    world.answer = () => ({});
    expect(await work()).toBe(1);
    expect(await states()).toEqual(["Completed 1"]);
  });

  it("[K-17] one receiver that never answers does not keep the others' results from being recorded", async () => {
    const { worker: workers, subscribe, publish, world, states, clock } = await stage(database);
    world.answer = ({ url }) => (url.includes("dead") ? forEver() : {});
    await subscribe("dead");
    await subscribe("a");
    await subscribe("b");
    await publish();
    const worker = workers();
    await worker.start();
    const arrived = async (): Promise<boolean> =>
      (await states()).filter((one) => one === "Completed 1").length === 2;
    while (!(await arrived())) await clock.advance(1);
    expect((await states()).toSorted()).toEqual(["Completed 1", "Completed 1", "InProgress 0"]);
    await worker.stop({ deadline: 0 });
  });

  it("[K-08][W-08] a sender of the user's own that does not return has timed out; its last attempt is waited for", async () => {
    const { worker, clock, subscribe, publish, world, states } = await stage(database, {
      timeout: "5s",
      retry: { attempts: 2, base: "1s" },
    });
    const held = gate();
    world.answer = () => held.pass().then(() => ({}));
    await subscribe("a");
    await publish();
    await worker().start();
    await held.reached;
    await expect
      .poll(
        async () => {
          await clock.advance(1_000);
          return [world.sent.length, ...(await states())];
        },
        { timeout: 20_000 },
      )
      .toEqual([2, "InProgress 1"]);
    for (let tick = 0; tick < 4; tick++) await clock.advance(10_000);
    // Two calls are out, and no dead letter says that they failed.
    expect(await states()).toEqual(["InProgress 1"]);
    expect(world.sent).toHaveLength(2);
    held.open();
    await expect.poll(states).toEqual(["Completed 2"]);
  });
});
