import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { TimeLimit, type Limited } from "../../src/storage/clock.ts";

function wait(onTimeUp: () => void = () => undefined): Limited & { ends: number } {
  const one = {
    sinceMs: 0,
    ends: 0,
    timeUp: () => {
      one.ends++;
      onTimeUp();
    },
  };
  return one;
}

it("[X-04] a caller without an answer fails after the limit, and one that has its answer does not", async () => {
  const clock = virtualClock();
  const limit = new TimeLimit(clock, 20);
  const waits = Array.from({ length: 30 }, () => wait());
  for (const one of waits) limit.begin(one);
  for (const one of waits.slice(0, 25)) limit.end(one);
  await clock.advance(15);
  const late = wait();
  limit.begin(late);
  await clock.advance(19);
  expect(waits.map(({ ends }) => ends)).toEqual(waits.map((_, n) => (n < 25 ? 0 : 1)));
  expect(late.ends).toBe(0);
  await clock.advance(1);
  expect(late.ends).toBe(1);
});

it("[X-04] a wait that begins while another one ends has its own time, and delays none before it", async () => {
  const clock = virtualClock();
  const limit = new TimeLimit(clock, 20);
  const third = wait();
  const first = wait(() => limit.begin(third));
  const second = wait();
  limit.begin(first);
  await clock.advance(5);
  limit.begin(second);
  await clock.advance(20);
  expect([first.ends, second.ends, third.ends]).toEqual([1, 1, 0]);
  await clock.advance(15);
  expect(third.ends).toBe(1);
});
