import { expect, it } from "vitest";
import { Alarms } from "../../../src/runtime/polling/alarms.ts";
import { virtualClock } from "../../../src/testing/kit/virtual-clock.ts";

/** The virtual instants at which the alarms went off. */
function alarmsOn(clock: ReturnType<typeof virtualClock>): { alarms: Alarms; wentOffMs: number[] } {
  const since = clock.monotonicMs();
  const wentOffMs: number[] = [];
  return { alarms: new Alarms(clock, () => wentOffMs.push(clock.monotonicMs() - since)), wentOffMs };
}

it("a due time that is set after an earlier one has its own alarm", async () => {
  const clock = virtualClock();
  const { alarms, wentOffMs } = alarmsOn(clock);
  alarms.set(40);
  alarms.set(75);
  alarms.set(60);
  await clock.advance(100);
  expect(wentOffMs).toEqual([40, 60, 75]);
});

it("due times that are close together share one timer, at the latest of them", async () => {
  const clock = virtualClock();
  let timers = 0;
  const counted = {
    ...clock,
    after: (ms: number, callback: () => void) => (timers++, clock.after(ms, callback)),
  };
  const { alarms, wentOffMs } = alarmsOn(counted);
  const offset = 10 - (clock.monotonicMs() % 10); // the beginning of a window
  for (let count = 0; count < 1_000; count++) alarms.set(offset + 8);
  alarms.set(offset + 3);
  expect(timers).toBe(1);
  alarms.set(offset + 9);
  await clock.advance(offset + 9);
  expect(wentOffMs).toEqual([offset + 9]);
});

it("a timer that fires early is set again for the rest", async () => {
  const clock = virtualClock();
  const early = {
    ...clock,
    after: (ms: number, callback: () => void) => clock.after(Math.max(0.5, ms - 1), callback),
  };
  const { alarms, wentOffMs } = alarmsOn(early);
  alarms.set(40);
  await clock.advance(45);
  expect(wentOffMs).toEqual([40]);
});

it("alarms that were cancelled do not go off", async () => {
  const clock = virtualClock();
  const { alarms, wentOffMs } = alarmsOn(clock);
  alarms.set(40);
  alarms.set(80);
  alarms.cancelAll();
  await clock.advance(100);
  expect(wentOffMs).toEqual([]);
});
