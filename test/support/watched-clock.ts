/**
 * A virtual clock that shows what is waited for. A test that moves time as soon as a line is in the database may be ahead of
 * the worker, which sets its timer only when it hears that the line was written: then the timer is set too late.
 */
import { virtualClock, type VirtualClock } from "amends/testing";

export interface WatchedClock extends VirtualClock {
  /** True while a timer is set that is due in exactly this long. */
  isWaiting(ms: number): boolean;
  /** The timers that are set, each with how long until it is due. */
  waits(): readonly number[];
}

export function watchedClock(): WatchedClock {
  const clock = virtualClock();
  const dues = new Map<symbol, number>();
  return {
    ...clock,
    after(ms, callback) {
      const timer = Symbol("timer");
      dues.set(timer, clock.monotonicMs() + ms);
      const cancel = clock.after(ms, () => {
        dues.delete(timer);
        callback();
      });
      return () => {
        dues.delete(timer);
        cancel();
      };
    },
    waits: () => [...dues.values()].map((dueMs) => dueMs - clock.monotonicMs()),
    isWaiting: (ms) => [...dues.values()].includes(clock.monotonicMs() + ms),
  };
}
