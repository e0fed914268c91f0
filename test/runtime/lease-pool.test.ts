import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { LeasePool, type Claimed } from "../../src/runtime/lease-pool.ts";
import type { Lease } from "../../src/runtime/lease.ts";
import { DutyLoop } from "../../src/runtime/polling/loop.ts";

const UNWATCHED = { trouble: () => undefined, answered: () => undefined };

interface Bench {
  readonly pool: LeasePool<Claimed>;
  readonly limits: number[];
  readonly leases: Lease[];
}

/** Rows that work until they are told to end. */
function poolWith(due: number, claimMax?: number): Bench & { end(): void } {
  const limits: number[] = [];
  const leases: Lease[] = [];
  let left = due;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const pool = new LeasePool<Claimed>({
    name: "rows",
    clock: virtualClock(),
    leaseMs: 60_000,
    ...(claimMax === undefined ? {} : { claimMax }),
    claim: async (limit) => {
      limits.push(limit);
      const taken = Math.min(limit, left);
      left -= taken;
      return Array.from({ length: taken }, (_, n) => ({ id: `${limits.length}-${n}`, token: 1 }));
    },
    renew: async () => new Set(),
    run: async (_, lease) => {
      leases.push(lease);
      await ended;
    },
    release: async () => undefined,
    drained: async () => undefined,
    onBug: (error) => expect.unreachable(String(error)),
  });
  return { pool, limits, leases, end };
}

it("[K-04] a claim takes at most the pool allows, and the next follows at once while there is room", async () => {
  const { pool, limits, leases, end } = poolWith(9, 2);
  const stopping = new AbortController();
  const loop = new DutyLoop(pool, {
    clock: virtualClock(),
    owner: "x",
    pollMs: 1_000,
    watch: () => UNWATCHED,
  });
  const running = loop.run(5, stopping.signal);
  await vi.waitFor(() => expect(leases).toHaveLength(5));
  expect(limits).toEqual([2, 2, 1]);
  end();
  await vi.waitFor(() => expect(leases).toHaveLength(9));
  expect(Math.max(...limits)).toBe(2);
  stopping.abort();
  await running;
});

it("[K-18] a pool that drains has no room, and its loop claims nothing more however much is due", async () => {
  const { pool, limits, leases, end } = poolWith(100);
  const clock = virtualClock();
  const stopping = new AbortController();
  const loop = new DutyLoop(pool, { clock, owner: "x", pollMs: 1_000, watch: () => UNWATCHED });
  const running = loop.run(5, stopping.signal);
  await vi.waitFor(() => expect(leases).toHaveLength(5));
  const draining = pool.drain(30_000);
  expect([pool.isDraining, pool.room]).toEqual([true, 0]);
  expect(pool.reserve(1)).toBeUndefined();
  const claims = limits.length;
  end();
  await draining;
  // The slots are free again, and the next polls come before the stop.
  await clock.advance(5_000);
  expect([pool.room, limits.length, leases.length]).toEqual([0, claims, 5]);
  stopping.abort();
  await running;
});

it("[P-01] a loop whose claim failed claims again at its next poll, and its leases are renewed meanwhile", async () => {
  const clock = virtualClock();
  const stopping = new AbortController();
  const warned: unknown[] = [];
  const asked: string[] = [];
  let isDown = true;
  const loop = new DutyLoop(
    {
      name: "rows",
      renewEveryMs: 500,
      room: 1,
      accept: () => undefined,
      claim: async () => {
        asked.push("claim");
        if (isDown) throw Object.assign(new Error("away"), { code: "ECONNREFUSED" });
        return [];
      },
      renew: async () => {
        asked.push("renew");
        if (isDown) throw new Error("away");
        return true;
      },
      drain: async () => undefined,
    },
    {
      clock,
      owner: "x",
      pollMs: 1_000,
      watch: (operation) => ({ trouble: () => warned.push(operation), answered: () => undefined }),
    },
  );
  const running = loop.run(1, stopping.signal);
  await clock.advance(5_000);
  expect(loop.health.hasWorked).toBe(false);
  expect(new Set(warned)).toEqual(new Set(["claim rows", "renew rows"]));
  isDown = false;
  asked.length = 0;
  await clock.advance(5_000);
  expect(new Set(asked)).toEqual(new Set(["claim", "renew"]));
  expect(loop.health.hasWorked).toBe(true);
  stopping.abort();
  await running;
});

it("[K-04] with a backlog, a claim waits a moment for more free slots, and then takes what there is", async () => {
  const clock = virtualClock();
  const limits: number[] = [];
  const ends: (() => void)[] = [];
  const pool = new LeasePool<Claimed>({
    name: "rows",
    clock,
    leaseMs: 60_000,
    claim: async (limit) => {
      limits.push(limit);
      return Array.from({ length: limit }, (_, n) => ({ id: `${limits.length}-${n}`, token: 1 }));
    },
    renew: async () => new Set(),
    run: () => new Promise((resolve) => void ends.push(resolve)),
    drained: async () => undefined,
    onBug: (error) => expect.unreachable(String(error)),
  });
  const stopping = new AbortController();
  const loop = new DutyLoop(pool, { clock, owner: "x", pollMs: 60_000, watch: () => UNWATCHED });
  const running = loop.run(32, stopping.signal);
  await clock.advance(100);
  const full = limits.length;
  expect(ends).toHaveLength(32);
  ends[0]?.();
  await clock.advance(19);
  expect(limits.slice(full)).toEqual([]);
  ends[1]?.();
  await clock.advance(1);
  expect(limits.slice(full)).toEqual([2]);
  for (const end of ends.slice(2, 10)) end();
  await clock.advance(0);
  expect(limits.slice(full + 1)).toEqual([7]);
  stopping.abort();
  await running;
});

it("[K-04] the claim after a full one is sent before the rows of the full one run", async () => {
  const { pool, limits, leases, end } = poolWith(5, 2);
  const begun: number[] = [];
  const stopping = new AbortController();
  const clock = virtualClock();
  const loop = new DutyLoop(pool, { clock, owner: "x", pollMs: 1_000, watch: () => UNWATCHED });
  const running = loop.run(8, stopping.signal);
  while (limits.length < 3) {
    begun.push(leases.length);
    await Promise.resolve();
  }
  expect(new Set(begun)).toEqual(new Set([0]));
  await vi.waitFor(() => expect(leases).toHaveLength(5));
  end();
  stopping.abort();
  await running;
});

it("[K-04] without a bound a claim takes all that there is room for", async () => {
  const { pool, limits, end } = poolWith(9);
  pool.accept(
    5,
    () => undefined,
    () => undefined,
  );
  expect(await pool.claim()).toHaveLength(5);
  expect([limits, pool.room]).toEqual([[5], 0]);
  end();
});

it("[K-08] a hold tells whoever asked that its call must stop, and its signal says so before and after", async () => {
  const { pool, leases, end } = poolWith(2);
  const [early, late] = await pool.claim(2);
  const told = vi.fn<() => void>();
  early?.onStop(told);
  const signal = early?.signal;
  expect(signal?.aborted).toBe(false);
  early?.stop("shutdown");
  late?.stop("lost");
  expect(told).toHaveBeenCalledTimes(1);
  expect(signal?.aborted).toBe(true);
  expect(signal?.reason).toMatchObject({ name: "AbortError", message: "amends: shutdown" });
  expect(late?.signal.reason).toMatchObject({ name: "AbortError", message: "amends: lost" });
  early?.onStop(undefined);
  early?.stop("lost");
  expect(told).toHaveBeenCalledTimes(1);
  expect(leases).toHaveLength(2);
  end();
});

it("[K-08] a place that is handed on is taken once: neither twice by the two, nor free for a third", async () => {
  const { pool, end } = poolWith(2);
  pool.accept(
    2,
    () => undefined,
    () => undefined,
  );
  const [first] = await pool.claim(1);
  expect(pool.room).toBe(1);
  const handed = pool.reserve(1, first);
  expect(pool.room).toBe(1);
  expect(pool.reserve(1, first)).toBeDefined();
  expect(pool.room).toBe(0);
  expect(pool.reserve(1)).toBeUndefined();
  const [second] = handed?.begin([{ id: "next", token: 1 }]) ?? [];
  end();
  await second?.gone;
});

it("[K-08][S-12] a row that a renewal does not bring back is stopped, keeps its slot and is not claimed beside its call", async () => {
  const clock = virtualClock();
  const asked: (readonly string[])[] = [];
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const pool = new LeasePool<Claimed>({
    name: "rows",
    clock,
    leaseMs: 8_000,
    claim: async (_, except) => {
      asked.push(except);
      return asked.length === 1 ? ["kept", "lost"].map((id) => ({ id, token: 1 })) : [];
    },
    // A map is as good an answer as a set: what else it says is the caller's.
    renew: async () => new Map([["kept", 7]]),
    run: () => ended,
    drained: async () => undefined,
    onBug: (error) => expect.unreachable(String(error)),
  });
  const ignore = (): void => undefined;
  pool.accept(3, ignore, ignore);
  const [kept, lost] = await pool.claim();
  clock.jump(pool.renewEveryMs);
  await pool.renew();
  expect([kept?.stopped, lost?.stopped, pool.room]).toEqual([undefined, "lost", 1]);
  await pool.claim();
  expect(asked).toEqual([[], ["lost"]]);
  end();
  await Promise.all([kept?.gone, lost?.gone]);
  expect([pool.room, pool.lost]).toEqual([3, 1]);
});

it("[K-08] a call that outlives its row keeps the slot, and the row's lease is no longer renewed", async () => {
  const clock = virtualClock();
  let end: () => void = () => undefined;
  const call = new Promise<void>((resolve) => (end = resolve));
  const pool = new LeasePool<Claimed>({
    name: "rows",
    clock,
    leaseMs: 8_000,
    claim: async () => [{ id: "one", token: 1 }],
    renew: async () => expect.unreachable("the row was settled"),
    run: async (_, lease) => lease.keepOrphan(call),
    drained: async () => undefined,
    onBug: (error) => expect.unreachable(String(error)),
  });
  const ignore = (): void => undefined;
  const freed = vi.fn<() => void>();
  pool.accept(1, ignore, freed);
  const [lease] = await pool.claim();
  await lease?.gone;
  clock.jump(pool.renewEveryMs);
  await pool.renew();
  expect([pool.room, freed.mock.calls.length]).toEqual([0, 0]);
  end();
  await vi.waitFor(() => expect(freed).toHaveBeenCalledTimes(1));
  expect(pool.room).toBe(1);
});

it("[S-05] a row that is inserted beside a claim which finds nothing gets a slot as soon as that is known", async () => {
  const { pool, limits, end } = poolWith(0);
  pool.accept(
    1,
    () => undefined,
    () => undefined,
  );
  const claiming = pool.claim();
  expect(limits).toEqual([1]);
  // The claim has reserved the only slot.
  expect(pool.reserve(1)).toBeUndefined();
  expect(await pool.reserveAfterClaim(1)).toBeDefined();
  expect(await claiming).toEqual([]);
  // The slot is reserved now, and no claim is under way that could return another.
  expect(await pool.reserveAfterClaim(1)).toBeUndefined();
  end();
});
