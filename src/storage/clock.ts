/**
 * The clock of the process. It never decides ownership: leases and gates compare database time with database time.
 * A virtual clock replaces both, so that tests control time.
 */
export interface Clock {
  /** Set where this clock also replaces the database's: milliseconds since the epoch. */
  readonly virtualNowMs?: () => number;
  /** Monotonic milliseconds; only differences are meaningful. */
  monotonicMs(): number;
  /** Calls back once after this long, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void;
}

const TIMER_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(ms, callback) {
    // The longest timer: a longer one would overflow and fire at once. Longer waits check again when they wake.
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), TIMER_MAX_MS));
    return () => clearTimeout(timer);
  },
};

/** Milliseconds since the epoch, for people to read and for hints: ownership and due times never depend on it. */
export function wallMs({ virtualNowMs }: Pick<Clock, "virtualNowMs">): number {
  return virtualNowMs?.() ?? Date.now();
}

/** How long closing a database waits for running work. */
export const CLOSE_MS = 1_000;

/** Waits until the delay has passed or the signal aborts. */
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

/** Waits for a promise with a time limit. A virtual clock may never move, so a short real wait ends it then. */
export async function within(clock: Clock, ms: number, end: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const limits = [sleep(clock, ms, over.signal)];
  if (clock.virtualNowMs) limits.push(sleep(systemClock, Math.min(ms, REAL_PATIENCE_MS), over.signal));
  await Promise.race([end, ...limits]);
  over.abort();
}

/** The result of the work; rejects with `late` if the work takes longer. The work goes on: its result is then ignored. */
export function inTime<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(late()));
    work.then(resolve, reject).finally(cancel);
  });
}

/** What waits under a time limit. */
export interface Limited {
  /** When the wait began, by the monotonic clock. Set by `begin`. */
  sinceMs: number;
  timeUp(): void;
}

/**
 * Waits under one time limit. One timer serves all of them, because a timer for each would cost more than a short call. They
 * end in the order in which they began.
 */
export class TimeLimit {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #waits = new Set<Limited>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  begin(wait: Limited): void {
    wait.sinceMs = this.#clock.monotonicMs();
    this.#waits.add(wait);
    this.#cancel ??= this.#clock.after(this.#ms, () => this.#check());
  }

  /** The wait is over. Without any other the timer ends, so that it does not keep the process alive. */
  end(wait: Limited): void {
    this.#waits.delete(wait);
    if (this.#waits.size === 0) this.#wakeAfter(undefined);
  }

  #check(): void {
    const latest = this.#clock.monotonicMs() - this.#ms;
    for (const wait of this.#waits) {
      if (wait.sinceMs > latest) break;
      this.#waits.delete(wait);
      wait.timeUp();
    }
    const [next] = this.#waits;
    this.#wakeAfter(next && next.sinceMs - latest);
  }

  #wakeAfter(ms: number | undefined): void {
    this.#cancel?.();
    this.#cancel = ms === undefined ? undefined : this.#clock.after(ms, () => this.#check());
  }
}
