import type { Amends } from "amends";
import { BackoffPolicy, dataMap, type ErasureOptions } from "amends/erasure";
import { expect, it } from "vitest";
import { RENEWALS } from "../../src/runtime/renewal.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { advanceWithRenewals, watchedClock, type WatchedClock } from "../support/watched-clock.ts";
import { gatekeeper } from "../operate/support/hold.ts";
import { forEver } from "../sagas/support/gate.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, shop, type Shop } from "./support/shop.ts";
import { eraser } from "./support/systems.ts";

const LEASE_MS = 300_000;

const RENEWAL_MS = LEASE_MS / RENEWALS;

/** Moves time far beyond the lease, and waits for each renewal on the way. */
async function keepLease(clock: WatchedClock, world: Shop, id: string): Promise<void> {
  // The loop that renews begins to wait when the claim has answered, which a call may reach before.
  await expect.poll(() => clock.setFor(RENEWAL_MS)).toBe(1);
  for (let tick = 0; tick < 20; tick++) {
    await advanceWithRenewals(clock, RENEWAL_MS, RENEWAL_MS);
    const gateMs = Number((await world.row(id))["gate_ms"]);
    expect(gateMs - clock.virtualNowMs()).toBeGreaterThanOrEqual((LEASE_MS * 3) / 4);
  }
}

/** Nothing of the application's own: these tests are about other systems. */
const nowhere = dataMap({ users: { subject: "id", columns: {} } });

onEachDatabase((database) => {
  const gate = gatekeeper();

  /** A started worker of an Amends that calls these systems. */
  async function workerWith(
    { db }: Shop,
    options: Omit<ErasureOptions, "dataMap">,
  ): Promise<ReturnType<Amends["worker"]>> {
    const amends = await database.amends({ database: db, erasure: { dataMap: nowhere, ...options } });
    return database.worker(amends, { poll: "50ms" });
  }

  it("[O-05] [P-01] the runner of `erasure` is driven by the worker, retries included", async () => {
    const world = await shop(database);
    const stripe = eraser("stripe", (_ref, _call, count) =>
      count < 3 ? Promise.reject(new Error("busy")) : {},
    );
    await workerWith(world, { resolvers: [stripe], retry: { base: 1, cap: 5 } });
    await world.enqueue(erase("u-1"));
    await expect.poll(() => world.trail("u-1")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
    expect(stripe.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it("[K-08] the lease is renewed while a call runs, also in runOnce", async () => {
    const clock = watchedClock();
    const world = await shop(database, { clock });
    const held = gate();
    const stripe = eraser("stripe", () => held.pass().then(() => ({})));
    const [id] = await world.enqueue(erase("u-1"));
    const running = runnerOn(world, [stripe], { callTimeout: "30d" }).runOnce();
    await held.reached;
    await keepLease(clock, world, id as string);
    held.open();
    expect(await running).toBe(1);
    expect(stripe.calls).toHaveLength(1);
    expect((await world.row(id as string))["status"]).toBe("succeeded");
  });

  it("[K-08] a call past its time is aborted and counts as failed; one that does not listen keeps its place", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const signals: AbortSignal[] = [];
    const deaf = eraser("stripe", (_ref, { signal }) => (signals.push(signal), forEver()));
    const [id] = await world.enqueue(erase("u-1"));
    const runner = runnerOn(world, [deaf], { callTimeout: "10s" });
    const running = runner.runOnce();
    await expect.poll(() => deaf.calls.length).toBe(1);
    await clock.advance(10_000);
    expect(signals[0]?.aborted).toBe(true);
    await clock.advance(10_000);
    expect(await running).toBe(1);
    expect(await world.row(id as string)).toMatchObject({
      status: "failed",
      last_error: "TimedOut",
      attempts: 1,
    });
    runner.duty.accept(
      5,
      () => undefined,
      () => undefined,
    );
    expect(runner.duty.room).toBe(4);
  });

  it("[K-08][O-09] the last try is not given up while its call is known to run: its end counts, however late", async () => {
    const clock = watchedClock();
    const world = await shop(database, { clock });
    const held = gate();
    const deaf = eraser("stripe", () => held.pass().then(() => ({})));
    const [id] = await world.enqueue(erase("u-1"));
    const running = runnerOn(world, [deaf], { callTimeout: "10s", maxAttempts: 1 }).runOnce();
    await held.reached;
    // Far beyond its time, its grace period and its lease.
    await keepLease(clock, world, id as string);
    await expect
      .poll(() => world.row(id as string))
      .toMatchObject({ status: "in_flight", last_error: "NotReturned" });
    expect(await world.trail("u-1")).toEqual([]);
    held.open();
    expect(await running).toBe(1);
    expect(deaf.calls).toHaveLength(1);
    expect(await world.row(id as string)).toMatchObject({ status: "succeeded", last_error: null });
    expect(await world.trail("u-1")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
  });

  it("[K-08] a call that listens ends at once when its time is over", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const polite = eraser(
      "stripe",
      (_ref, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        ),
    );
    const [id] = await world.enqueue(erase("u-1"));
    const runner = runnerOn(world, [polite], { callTimeout: "10s" });
    const running = runner.runOnce();
    await expect.poll(() => polite.calls.length).toBe(1);
    await clock.advance(10_000);
    expect(await running).toBe(1);
    expect(await world.row(id as string)).toMatchObject({ status: "failed", last_error: "TimedOut" });
    runner.duty.accept(
      5,
      () => undefined,
      () => undefined,
    );
    expect(runner.duty.room).toBe(5);
  });

  it("[K-08] a call that has answered leaves no timer behind, so a process that ran once can exit", async () => {
    const clock = watchedClock();
    const world = await shop(database, { clock });
    const stripe = eraser("stripe");
    await world.enqueue(erase("u-1"), erase("u-2"));
    expect(await runnerOn(world, [stripe]).runOnce()).toBe(2);
    expect(stripe.calls).toHaveLength(2);
    expect(clock.waits()).toEqual([]);
  });

  it("[K-18] a shutdown gives back what is not finished, without an outcome and without counting the attempt", async () => {
    const world = await shop(database);
    const slow = eraser(
      "stripe",
      (_ref, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        ),
    );
    const [id] = await world.enqueue(erase("u-1"));
    const worker = await workerWith(world, { resolvers: [slow] });
    await expect.poll(() => slow.calls.length).toBe(1);
    await worker.stop({ deadline: 0 });
    expect(await world.row(id as string)).toMatchObject({
      status: "pending",
      attempts: 0,
      last_error: null,
    });
    const stripe = eraser("stripe");
    expect(await runnerOn(world, [stripe]).runOnce()).toBe(1);
    expect(stripe.calls).toMatchObject([{ attempt: 1 }]);
    expect(await world.trail("u-1")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
  });

  it("[K-18] a call that succeeds while the worker stops is recorded", async () => {
    const world = await shop(database);
    const held = gate();
    const stripe = eraser("stripe", () => held.pass().then(() => ({})));
    const [id] = await world.enqueue(erase("u-1"));
    const worker = await workerWith(world, { resolvers: [stripe] });
    await held.reached;
    const stopping = worker.stop({ deadline: "20s" });
    held.open();
    await stopping;
    expect((await world.row(id as string))["status"]).toBe("succeeded");
  });

  it("[O-05] calls of one batch run at once, and one that hangs costs the others nothing", async () => {
    const world = await shop(database);
    const held = gate();
    const stripe = eraser("stripe", ({ value }) => (value === "slow" ? held.pass().then(() => ({})) : {}));
    const ids = await world.enqueue(erase("u-1", "stripe", "slow"), erase("u-2"), erase("u-3"));
    const running = runnerOn(world, [stripe]).runOnce();
    await expect.poll(async () => (await world.outbox.statusCounts()).succeeded).toBe(2);
    expect((await world.row(ids[0] as string))["status"]).toBe("in_flight");
    held.open();
    expect(await running).toBe(3);
  });

  it("[O-05] bad options are refused", async () => {
    const world = await shop(database);
    for (const options of [
      { maxAttempts: 0 },
      { batchSize: 1.5 },
      { callTimeout: 0 },
      { retries: 3 } as never,
    ])
      expect(() => runnerOn(world, [], options)).toThrow(/must be|no option/);
    for (const options of [{ baseDelay: 0 }, { maxDelay: 1 }, { lease: 0 }, { base: 1 } as never])
      expect(() => new BackoffPolicy(options)).toThrow(/must|no option/);
  });

  it("[O-05] a schedule is given as a policy or as base, cap and lease; whatever else is refused by its name", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const busy = eraser("stripe", () => Promise.reject(new Error("busy")));
    const [id] = await world.enqueue(erase("u-1"));
    await runnerOn(world, [busy], { backoff: { base: "50s", cap: "100s", lease: "7m" } }).runOnce();
    const { status, gate_ms: gateMs } = await world.row(id as string);
    expect([status, Number(gateMs) - clock.virtualNowMs()]).toEqual(["failed", 50_000]);
    for (const [backoff, said] of [
      [
        { baseDelay: "1s" },
        "new SagaRunner: backoff: there is no option named baseDelay. There are: base, cap, factor, lease.",
      ],
      [5, "new SagaRunner: backoff needs an object with its options."],
      [{ base: "2h" }, "cap must not be shorter than base"],
      [{ lease: 0 }, "lease must be longer than zero"],
    ] as const)
      expect(() => runnerOn(world, [], { backoff: backoff as never })).toThrow(said);
  });

  it("[K-01] the parts take one spelling of a schedule, and refuse every other one by its name", async () => {
    const db = await database.open();
    const made = async (options: object): Promise<Amends> =>
      database.amends({ database: db, calls: [], erasure: { dataMap: nowhere }, ...options });
    const wrong: readonly (readonly [object, string])[] = [
      [{ calls: { define: [], backoff: {} } }, "new Amends({ calls }): there is no option named backoff"],
      [{ calls: { define: [], retry: { delay: 1 } } }, "calls.retry: there is no option named delay"],
      [{ calls: { define: [], retry: { attempts: 0 } } }, "calls.retry.attempts must be a whole number"],
      [{ erasure: { dataMap: nowhere, maxAttempts: 3 } }, "there is no option named maxAttempts"],
      [{ erasure: { dataMap: nowhere, callTimeout: 1 } }, "there is no option named callTimeout"],
      [{ erasure: { dataMap: nowhere, retry: { base: "2h", cap: "1h" } } }, "cap must not be shorter"],
      [{ webhooks: { maxLeases: 3 } }, "there is no option named maxLeases"],
      [{ webhooks: { retry: { maxAttempts: 3 } } }, "webhooks.retry: there is no option named maxAttempts"],
    ];
    for (const [options, said] of wrong) await expect(made(options)).rejects.toThrow(said);
    const amends = await made({
      calls: { define: [], retry: { attempts: 2, base: "50ms", cap: "100ms" }, lease: "1m" },
      erasure: {
        dataMap: nowhere,
        retry: { base: "50ms", cap: "100ms", factor: 1 },
        lease: "1m",
        timeout: "5s",
      },
    });
    expect(amends.erasure.runner).toBeDefined();
  });

  it("[K-01] the schedule is min(base · 2^(n−1), cap) with the defaults of the source", () => {
    const policy = new BackoffPolicy();
    expect([1, 2, 3, 7, 8, 100].map((attempt) => policy.delay(attempt))).toEqual([
      30_000, 60_000, 120_000, 1_920_000, 3_600_000, 3_600_000,
    ]);
    expect(policy.leaseMs).toBe(LEASE_MS);
    expect(() => policy.delay(0)).toThrow("attempt 1");
  });
});
