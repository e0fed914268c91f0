import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";

it("[T-01] time moves to the next instant at which something is called back, and no further", async () => {
  const clock = virtualClock(0);
  const called: [string, number][] = [];
  clock.after(20, () => called.push(["late", clock.monotonicMs()]));
  clock.after(5, () => called.push(["soon", clock.monotonicMs()]));
  clock.after(3, () => called.push(["never", 0]))();
  expect(await clock.advanceToNext()).toBe(true);
  expect(called).toEqual([["soon", 5]]);
  expect(await clock.advanceToNext()).toBe(true);
  expect(called).toEqual([
    ["soon", 5],
    ["late", 20],
  ]);
  expect(await clock.advanceToNext()).toBe(false);
  expect(clock.virtualNowMs()).toBe(20);
});
