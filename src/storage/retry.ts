/**
 * The retry loop of database work after transient errors: serialization failures, deadlocks, lost connections,
 * server restarts. Such an error is never persisted as an outcome. The work must be safe to repeat after a commit
 * whose outcome is unknown.
 */
import { delayMs, type Backoff } from "../core/backoff.ts";
import { AmendsError } from "../core/errors.ts";
import { inTime, sleep, systemClock } from "./clock.ts";
import type { Database } from "./database.ts";
import { forbidden } from "./postgres/rights/forbidden.ts";
import { refusal } from "./refusal.ts";

const SCHEDULE: Backoff = { baseMs: 20, capMs: 2_000, factor: 2 };

export interface RetryLimits {
  /** The number of attempts. A worker's own writes have no limit but their signal. */
  readonly attemptMax: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * True if the work can be split: a lock conflict is then thrown at once, so that the caller splits the work to
   * find the locked row.
   */
  readonly splits?: boolean;
  readonly watch?: DatabaseWatch | undefined;
}

/** Hears of trouble with the database, and of every answer, which ends the trouble. */
export interface DatabaseWatch {
  trouble(error: unknown): void;
  answered(): void;
}

/**
 * For calls that a caller waits for: long enough for a restart of the database, not for an outage. After `callMs` of
 * the database no further attempt begins.
 */
export const BRIEF_RETRIES: RetryLimits = { attemptMax: 8 };

export async function persist<T>(
  db: Pick<Database, "dialect" | "clock" | "callMs" | "address"> & Partial<Pick<Database, "query">>,
  work: () => Promise<T>,
  retryLimits: RetryLimits = BRIEF_RETRIES,
): Promise<T> {
  const { callMs = Infinity } = db;
  const isBrief = retryLimits.attemptMax < Infinity;
  // The system clock, because a virtual one may jump while a statement is under way.
  const beganAtMs = systemClock.monotonicMs();
  for (let attempt = 1; ; attempt++) {
    try {
      const done = await work();
      retryLimits.watch?.answered();
      return done;
    } catch (error) {
      if (error instanceof AmendsError) throw error;
      const trouble = db.dialect.trouble(error);
      if (trouble.code === "DATABASE_FORBIDDEN") throw await forbidden(db, error);
      if (trouble.kind === "permanent" || trouble.code === "DATABASE_READ_ONLY")
        throw refusal(db, trouble.code, error);
      retryLimits.watch?.trouble(refusal(db, trouble.code, error));
      if (retryLimits.splits && trouble.blocked) throw error;
      const isOver = isBrief && systemClock.monotonicMs() - beganAtMs >= callMs;
      if (isOver || attempt >= retryLimits.attemptMax || retryLimits.signal?.aborted)
        throw refusal(db, trouble.code, error);
      await sleep(db.clock, delayMs(SCHEDULE, attempt), retryLimits.signal);
    }
  }
}

/**
 * The result of the work, or DATABASE_UNREACHABLE after `callMs` of the database, even if a statement is under way. That
 * statement may still take effect, as after a lost connection.
 */
export async function answerInTime<T>(
  db: Pick<Database, "dialect" | "callMs" | "address">,
  work: Promise<T>,
): Promise<T> {
  const { callMs } = db;
  return callMs === undefined ? work : inTime(systemClock, callMs, work, () => noAnswer(db));
}

/** The error of a call that the database has not answered within its limit. */
export function noAnswer(db: Pick<Database, "dialect" | "callMs" | "address">): AmendsError {
  const cause = new Error(`The database did not answer within ${db.callMs} ms.`);
  return refusal(db, "DATABASE_UNREACHABLE", cause);
}
