import { expect, it } from "vitest";
import { nextDueAfter, roomOf, type Lane } from "../../../src/core/delivery/lane.ts";

const lane: Lane = {
  subscriptionId: "1",
  status: "Active",
  concurrency: 4,
  ordered: false,
  failing: false,
  disabling: false,
  active: 0,
  intervalMs: 0,
  nextDueMs: 0,
  nowMs: 0,
  attemptMax: 9,
};

it("[W-19] a lane has as many places as its subscription says, one where it is ordered or failed last, none while paused", () => {
  expect(roomOf(lane)).toBe(4);
  expect(roomOf({ ...lane, active: 3 })).toBe(1);
  expect(roomOf({ ...lane, active: 9 })).toBe(0);
  expect(roomOf({ ...lane, failing: true })).toBe(1);
  expect(roomOf({ ...lane, failing: true, active: 1 })).toBe(0);
  expect(roomOf({ ...lane, ordered: true })).toBe(1);
  expect(roomOf({ ...lane, status: "Paused" })).toBe(0);
  expect(roomOf({ ...lane, status: "Deleted" })).toBe(64);
  expect(roomOf({ ...lane, status: "Disabled", active: 60 })).toBe(4);
});

it("[W-19] a rate lets one job go at its time and none before, from where it left off", () => {
  const slow = { ...lane, intervalMs: 1_000 };
  expect([roomOf(slow), nextDueAfter(slow, 1)]).toEqual([1, 1_000]);
  expect([roomOf({ ...slow, nextDueMs: 1 }), nextDueAfter({ ...slow, nextDueMs: 1 }, 0)]).toEqual([0, 1]);
  expect([roomOf({ ...slow, nextDueMs: -9 }), nextDueAfter({ ...slow, nextDueMs: -9 }, 1)]).toEqual([
    1, 1_000,
  ]);
  expect(roomOf({ ...slow, active: 4 })).toBe(0);
  expect(nextDueAfter(lane, 3)).toBeUndefined();
  const deleted: Lane = { ...slow, nextDueMs: 500, status: "Deleted" };
  expect([roomOf(deleted), nextDueAfter(deleted, 9)]).toEqual([64, undefined]);
});

it("[W-19] a fast rate makes up for a look that came late, and for no pause", () => {
  const fast = (nextDueMs: number): Lane => ({ ...lane, concurrency: 64, intervalMs: 10, nextDueMs });
  expect([roomOf(fast(-4)), nextDueAfter(fast(-4), 1)]).toEqual([1, 6]);
  expect([roomOf(fast(-25)), nextDueAfter(fast(-25), 3)]).toEqual([3, 5]);
  expect([roomOf(fast(-50)), nextDueAfter(fast(-50), 6)]).toEqual([6, 10]);
  expect([roomOf(fast(-51)), nextDueAfter(fast(-51), 1)]).toEqual([1, 10]);
});
