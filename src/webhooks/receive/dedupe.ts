/**
 * For receivers: a webhook comes at least once, and every repetition carries the same id. An id is remembered only when
 * its work has succeeded, so a failure is tried again with the sender's next attempt, and a repetition that arrives
 * while the first call is running gets the outcome of that call.
 */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";

/** Ids whose work is done. Pass your own store to share them between processes. */
export interface SeenStore {
  /** Whether the work of this id is done. */
  has(id: string): boolean | Promise<boolean>;
  /** Remembers the id for at least this long. */
  add(id: string, ttlMs: number): void | Promise<void>;
}

/** A clock that never goes back. Only differences between its readings are meaningful. */
export interface MonotonicClock {
  /** Milliseconds since some instant. */
  monotonicMs(): number;
}

const SYSTEM_CLOCK: MonotonicClock = { monotonicMs: () => performance.now() };

/** The options of `dedupeWebhooks`. */
export interface DedupeOptions {
  /** How long an id is remembered. It must be longer than the sender keeps retrying. Default: 7d. */
  readonly ttl?: Duration;
  /**
   * The number of ids that are remembered in memory; the oldest is forgotten first. It has no effect on your own store.
   * Default: 100,000.
   */
  readonly max?: number;
  /** Where ids are remembered. Default: in memory. */
  readonly store?: SeenStore;
  /** For tests: a virtual clock from `amends/testing`. */
  readonly clock?: MonotonicClock;
}

/** Does the work of each webhook once. */
export interface WebhookDedupe {
  /** Does the work if it was not done before. Returns true if this call did it. Errors of the work are rethrown. */
  once(id: string, work: () => void | Promise<void>): Promise<boolean>;
}

const TTL_MS = 7 * 86_400_000;
const MAX = 100_000;

/** Detects repetitions of a webhook by its id. */
export function dedupeWebhooks(options: DedupeOptions = {}): WebhookDedupe {
  refuseUnknown(options, ["ttl", "max", "store", "clock"], "dedupeWebhooks");
  const { max = MAX, clock = SYSTEM_CLOCK } = options;
  const ttlMs = positiveMs(options.ttl ?? TTL_MS, "ttl");
  if (!Number.isInteger(max) || max < 1) {
    throw new AmendsError("BAD_OPTION", "max must be a whole number of at least 1.");
  }
  const store = options.store ?? new SeenInMemory(max, clock);
  const underWay = new Map<string, Promise<void>>();

  async function first(id: string, work: () => void | Promise<void>): Promise<boolean> {
    if (await store.has(id)) return false;
    await work();
    await store.add(id, ttlMs);
    return true;
  }

  return {
    async once(id, work) {
      const running = underWay.get(id);
      if (running) {
        await running;
        return false;
      }
      const doing = first(id, work);
      // Waiting calls get the outcome; without a waiting call this must not be an unhandled rejection.
      const end = doing.then(() => undefined);
      end.catch(() => undefined);
      underWay.set(id, end);
      try {
        return await doing;
      } finally {
        underWay.delete(id);
      }
    },
  };
}

class SeenInMemory implements SeenStore {
  /** In the order in which they were added, which is the order in which they expire. */
  readonly #expiresMs = new Map<string, number>();
  readonly #max: number;
  readonly #clock: MonotonicClock;

  constructor(max: number, clock: MonotonicClock) {
    this.#max = max;
    this.#clock = clock;
  }

  has(id: string): boolean {
    this.#forgetExpired();
    return this.#expiresMs.has(id);
  }

  add(id: string, ttlMs: number): void {
    this.#expiresMs.delete(id);
    this.#expiresMs.set(id, this.#clock.monotonicMs() + ttlMs);
    for (const oldest of this.#expiresMs.keys()) {
      if (this.#expiresMs.size <= this.#max) return;
      this.#expiresMs.delete(oldest);
    }
  }

  #forgetExpired(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [id, expiresMs] of this.#expiresMs) {
      if (expiresMs > nowMs) return;
      this.#expiresMs.delete(id);
    }
  }
}
