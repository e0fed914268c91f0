/**
 * A virtual clock that shows what is waited for. A test that moves time as soon as a line is in the database may be ahead of
 * the worker, which sets its timer only when it hears that the line was written: then the timer is set too late.
 */
import { virtualClock, type VirtualClock } from "amends/testing";
import { expect } from "vitest";

export interface WatchedClock extends VirtualClock {
  /** True while a timer is set that is due in exactly this long. */
  isWaiting(ms: number): boolean;
  /** The timers that are set, each with how long until it is due. */
  waits(): readonly number[];
  /** How many timers are set that were given this long, whenever they are due. */
  setFor(ms: number): number;
}

export function watchedClock(): WatchedClock {
  const clock = virtualClock();
  const timers = new Map<symbol, { readonly ms: number; readonly dueMs: number }>();
  const dues = (): number[] => [...timers.values()].map(({ dueMs }) => dueMs);
  return {
    ...clock,
    after(ms, callback) {
      const timer = Symbol("timer");
      timers.set(timer, { ms, dueMs: clock.monotonicMs() + ms });
      const cancel = clock.after(ms, () => {
        timers.delete(timer);
        callback();
      });
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
    waits: () => dues().map((dueMs) => dueMs - clock.monotonicMs()),
    isWaiting: (ms) => dues().includes(clock.monotonicMs() + ms),
    setFor: (ms) => [...timers.values()].filter((timer) => timer.ms === ms).length,
  };
}

/**
 * Moves time as a worker sees it: a renewal takes a moment of real time, and the worker sets its next timer only after
 * the answer. Without the wait, time would run on meanwhile, and the worker would be late by the test's doing.
 */
export async function advanceWithRenewals(clock: WatchedClock, renewalMs: number, ms: number): Promise<void> {
  const loops = clock.setFor(renewalMs);
  expect(loops).toBeGreaterThan(0);
  await clock.advance(ms);
  await expect.poll(() => clock.setFor(renewalMs)).toBe(loops);
}
