/**
 * The retry loop of database work after transient errors: serialization failures, deadlocks, lost connections,
 * server restarts. Such an error is never persisted as an outcome. The work must be safe to repeat after a commit
 * whose outcome is unknown.
 */
import { delayMs, type Backoff } from "../core/backoff.ts";
import { AmendsError } from "../core/errors.ts";
import { sleep, systemClock } from "./clock.ts";
import type { Database, Dialect } from "./database.ts";

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
  readonly onTrouble?: ((error: unknown, attempt: number) => void) | undefined;
}

/**
 * For calls that a caller waits for: long enough for a restart of the database, not for an outage. After `callMs` of
 * the database no further attempt begins.
 */
export const BRIEF_RETRIES: RetryLimits = { attemptMax: 8 };

export async function persist<T>(
  db: Pick<Database, "dialect" | "clock" | "callMs">,
  work: () => Promise<T>,
  retryLimits: RetryLimits = BRIEF_RETRIES,
): Promise<T> {
  const { callMs = Infinity } = db;
  const isBrief = retryLimits.attemptMax < Infinity;
  // The system clock, because a virtual one may jump while a statement is under way.
  const beganAtMs = systemClock.monotonicMs();
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof AmendsError) throw error;
      const trouble = db.dialect.trouble(error);
      if (trouble.kind === "permanent" || trouble.code === "DATABASE_READ_ONLY")
        throw refusal(db.dialect.name, trouble.code, error);
      retryLimits.onTrouble?.(error, attempt);
      if (retryLimits.splits && trouble.blocked) throw error;
      const isOver = isBrief && systemClock.monotonicMs() - beganAtMs >= callMs;
      if (isOver || attempt >= retryLimits.attemptMax || retryLimits.signal?.aborted)
        throw refusal(db.dialect.name, trouble.code, error);
      await sleep(db.clock, delayMs(SCHEDULE, attempt), retryLimits.signal);
    }
  }
}

/**
 * The result of the work, or DATABASE_UNREACHABLE after `callMs` of the database, even if a statement is under way. That
 * statement may still take effect, as after a lost connection.
 */
export async function answerInTime<T>(
  db: Pick<Database, "dialect" | "callMs">,
  work: Promise<T>,
): Promise<T> {
  const { callMs } = db;
  if (callMs === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const cancel = systemClock.after(callMs, () => {
      const cause = new Error(`The database did not answer within ${callMs} ms.`);
      reject(refusal(db.dialect.name, "DATABASE_UNREACHABLE", cause));
    });
    work.then(resolve, reject).finally(cancel);
  });
}

const ADVICE: Partial<Record<string, string>> = {
  DATABASE_UNREACHABLE:
    "The database could not be reached, or did not answer in time. Check its address and that it runs. If this was a start, start it again with the same id: nothing is done twice.",
  DATABASE_READ_ONLY:
    "The database is read-only (a standby, or a file without write permission). Connect to the primary.",
  SCHEMA_MISSING: "Amends' tables do not exist. Run `await amends.migrate()` once before anything else.",
};

const SQLITE_UNREACHABLE =
  "The SQLite database could not be opened or written: its folder does not exist, the disk is full, or another connection keeps it locked. If this was a start, start it again with the same id: nothing is done twice.";

function refusal(dialect: Dialect["name"], code: AmendsError["code"], cause: unknown): AmendsError {
  const advice = dialect === "sqlite" && code === "DATABASE_UNREACHABLE" ? SQLITE_UNREACHABLE : ADVICE[code];
  const message = advice ?? "The database refused a statement; see the cause.";
  return new AmendsError(code, code === "DATABASE_FORBIDDEN" ? forbidden(cause) : message, {}, { cause });
}

/** PostgreSQL names the table. */
function forbidden(cause: unknown): string {
  const { message } = cause as { message?: unknown };
  return `The database login lacks a right: ${String(message)}. docs/guides/webhooks.md lists the rights of each part, and docs/guides/postgres.md those of a process that runs all of them.`;
}
