/**
 * Time at the edge. Ownership is never decided by these instants: leases and gates compare database time with
 * database time. A virtual clock takes the place of both, so that tests move time by hand.
 */
export interface Clock {
  /** Set where this clock also replaces the database's: milliseconds since the epoch. */
  readonly virtualNowMs?: () => number;
  /** Milliseconds that never go back; only differences mean something. */
  monotonicMs(): number;
  /** Calls back once after this long, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void;
}

const TIMER_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(ms, callback) {
    // A longer wait would overflow into none at all. Whoever waits that long looks again when it wakes.
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), TIMER_MAX_MS));
    return () => clearTimeout(timer);
  },
};

/** How long closing a database waits for whoever still uses it. */
export const CLOSE_MS = 2_000;

/** Waits, or stops waiting when the signal fires. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

const REAL_PATIENCE_MS = 2_000;

/** Waits for an end, but not longer than this. Time that is moved by hand may never be moved: then a short real wait ends it. */
export async function within(clock: Clock, ms: number, end: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const limits = [sleep(clock, ms, over.signal)];
  if (clock.virtualNowMs) limits.push(sleep(systemClock, Math.min(ms, REAL_PATIENCE_MS), over.signal));
  await Promise.race([end, ...limits]);
  over.abort();
}
