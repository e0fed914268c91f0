/** Time that stands still until it is moved. It takes the place of the process's clock and of the database's. */
import type { Clock } from "../../storage/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that a test moves by hand. */
export interface VirtualClock extends Clock {
  readonly virtualNowMs: () => number;
  /** Moves time on, calling back whatever becomes due on the way, in order, and lets what that sets off settle. */
  advance(ms: number): Promise<void>;
  /** Moves time on to the next instant at which something is called back, and no further. False where nothing waits. */
  advanceToNext(): Promise<boolean>;
  /** Jumps without calling back: as when a machine sleeps or its clock is set. */
  jump(ms: number): void;
}

/** Makes a clock that stands still until a test moves it. */
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

/** Lets everything run that is ready to run, database round trips on this machine included. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
