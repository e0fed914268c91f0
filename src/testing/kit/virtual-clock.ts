/**
 * A virtual clock that stands still until it is moved. It replaces the clocks of the process and of the database.
 */
import type { Clock } from "../../storage/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock for tests that stands still until it is moved. Pass it to `sqlite`, `postgres` or `new Amends`: it also
 * replaces the database's clock.
 */
export interface VirtualClock extends Clock {
  readonly virtualNowMs: () => number;
  /**
   * Moves time forward by this many milliseconds. It runs the timers that become due on the way, in order, and lets the
   * resulting work settle.
   */
  advance(ms: number): Promise<void>;
  /** Moves time forward to the next timer and runs it. Returns false if there is no timer. */
  advanceToNext(): Promise<boolean>;
  /**
   * Moves time by this many milliseconds without running timers, as if the machine had slept or its clock had been set.
   */
  jump(ms: number): void;
}

/** Makes a virtual clock. Default start: 2030-01-01 UTC. */
export function virtualClock(startMs: number = Date.UTC(2030, 0, 1)): VirtualClock {
  let now = startMs;
  let order = 0;
  let timers: Timer[] = [];
  const next = (untilMs: number): Timer | undefined =>
    timers
      .filter((timer) => timer.atMs <= untilMs)
      .toSorted((a, b) => a.atMs - b.atMs || a.order - b.order)[0];
  const callBack = async (timer: Timer): Promise<void> => {
    timers = timers.filter((other) => other !== timer);
    now = Math.max(now, timer.atMs);
    timer.callback();
    await settle();
  };
  return {
    virtualNowMs: () => now,
    monotonicMs: () => now,
    after(ms, callback) {
      const timer: Timer = { atMs: now + Math.max(0, ms), order: order++, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    async advance(ms) {
      const untilMs = now + ms;
      await settle();
      for (let timer = next(untilMs); timer; timer = next(untilMs)) {
        await callBack(timer);
      }
      now = untilMs;
      await settle();
    },
    async advanceToNext() {
      const timer = next(Infinity);
      if (timer) await callBack(timer);
      return timer !== undefined;
    },
    jump(ms) {
      now += ms;
    },
  };
}

/** Runs everything that is ready, including round trips to a local database. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
