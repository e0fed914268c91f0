/** Whether a worker runs, here or elsewhere: for callers that wait, for readiness and for the command line. */
import { HEARD_MS, readWorkers, type Workers } from "../runtime/presence/presence.ts";
import type { Database } from "../storage/database.ts";
import type { Reader } from "../storage/read/reader.ts";
import type { Logger } from "./log/logger.ts";

export { HEARD_MS, type Workers };

export function workersOf(reader: Reader): Promise<Workers> {
  return readWorkers(reader);
}

/** A run of a cron job so long ago means that work is still processed: schedules of five minutes are common. */
const RECENT_RUN_MS = 300_000;

/** The database is asked, and a warning logged, at most once in this time, however many callers wait. */
const ASK_EVERY_MS = 60_000;

export class WorkerLookout {
  readonly #db: Database;
  readonly #isHere: () => boolean;
  readonly #logger: Logger;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  /** `isHere` is true while a worker of this process runs. */
  constructor(db: Database, isHere: () => boolean, logger: Logger) {
    this.#db = db;
    this.#isHere = isHere;
    this.#logger = logger;
  }

  /** Also true if the database does not answer. */
  async isRunning(): Promise<boolean> {
    if (this.#isHere()) return true;
    const workers = await readWorkers(this.#db).catch(() => undefined);
    if (workers === undefined || workers.running > 0) return true;
    return workers.runMsAgo !== undefined && workers.runMsAgo <= RECENT_RUN_MS;
  }

  async warnIfNone(id: string): Promise<void> {
    const nowMs = this.#db.clock.monotonicMs();
    if (nowMs - this.#askedAtMs < ASK_EVERY_MS) return;
    this.#askedAtMs = nowMs;
    if (await this.isRunning()) return;
    this.#logger.warn(
      { id },
      "amends: a caller waits for a saga, and no worker is running: start one with `amends.worker().start()` or `amends worker`",
    );
  }
}
