import { expect, it } from "vitest";
import { paced, roomOf, type Lane } from "../../../src/core/delivery/lane.ts";

const lane: Lane = {
  subscriptionId: "1",
  status: "Active",
  concurrency: 4,
  ordered: false,
  failing: false,
  active: 0,
  intervalMs: 0,
  nextDueMs: 0,
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

it("[W-19] a rate spaces jobs evenly, from where it left off", () => {
  expect(paced(lane, 3)).toEqual({ waits: [0, 0, 0], nextDueMs: 0 });
  expect(paced({ ...lane, intervalMs: 100 }, 3)).toEqual({ waits: [0, 100, 200], nextDueMs: 300 });
  expect(paced({ ...lane, intervalMs: 100, nextDueMs: 50 }, 2)).toEqual({ waits: [50, 150], nextDueMs: 250 });
  expect(paced({ ...lane, intervalMs: 100, nextDueMs: -5_000 }, 1)).toEqual({ waits: [0], nextDueMs: 100 });
  expect(paced({ ...lane, intervalMs: 100, status: "Deleted" }, 2)).toEqual({ waits: [0, 0], nextDueMs: 0 });
});
