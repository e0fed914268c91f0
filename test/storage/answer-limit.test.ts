import { expect, it, vi } from "vitest";
import { AnswerLimit, type WaitingCaller } from "../../src/storage/write/answer-limit.ts";

function caller(sinceMs: number): WaitingCaller & { isOver: boolean; fails: number } {
  const one = {
    sinceMs,
    isOver: false,
    fails: 0,
    fail: () => {
      one.fails++;
      one.isOver = true;
    },
  };
  return one;
}

it("[X-04] a caller without an answer fails after the limit, and one that has its answer does not", async () => {
  const limit = new AnswerLimit(20);
  const now = performance.now();
  const callers = Array.from({ length: 3_000 }, () => caller(now));
  for (const one of callers) limit.add(one);
  for (const one of callers.slice(0, 2_500)) one.isOver = true;
  limit.forget();
  const late = caller(now + 40);
  limit.add(late);
  await vi.waitFor(() => expect(late.fails).toBe(1));
  expect(callers.map(({ fails }) => fails)).toEqual(callers.map((_, n) => (n < 2_500 ? 0 : 1)));
});
