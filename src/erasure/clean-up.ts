/**
 * On SQLite, what was overwritten lives on in two places. In the write-ahead file, until that is brought into the
 * database's file and cut off. And in gaps of the database's pages: when SQLite moves a row to another page it leaves
 * the bytes behind, also with secure_delete; only rebuilding the file (VACUUM) takes them away. Nobody tells us when the
 * caller's transaction commits, so the request leaves a mark in it, and this chore of the worker looks for marks: the
 * write-ahead file is cut off at once, and the file is rebuilt at most once in a while, first for what was erased here,
 * and again when the calls to other systems have ended and what they carried is gone. PostgreSQL does the like by
 * itself (vacuum), out of our reach.
 */
import type { OutboxWriter } from "../outbox/outcome-writer.ts";
import type { Database, Row } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";
import type { Duty, Leaving } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import {
  findVirtualTable,
  listUnclean,
  markClean,
  rebuildFile,
  TRUNCATED,
  truncateLog,
  UNCLEAN,
} from "./queries.ts";

const BATCH = 500;

export interface CleanUpOptions {
  readonly host: PartContext;
  readonly writer: Pick<OutboxWriter, "flushes">;
  /** Infinite where the file is not to be rebuilt unasked. */
  readonly rebuildEveryMs: number;
}

export class CleanUp implements Duty {
  readonly name: string = "outbox:clean-up";
  readonly capacity: number = 1;
  readonly renewEveryMs: number = 3_600_000;
  readonly #db: Database;
  readonly #options: CleanUpOptions;
  /** Something may be left from before this process began, too. */
  #isDue = true;
  /** Bookings of this process that the write-ahead file was cut off after. */
  #flushes = 0;
  #rebuiltAtMs = Number.NEGATIVE_INFINITY;
  #hasWarned = false;
  #isAccepted = false;

  constructor(options: CleanUpOptions) {
    this.#db = options.host.database;
    this.#options = options;
  }

  get room(): number {
    return this.#isAccepted ? 1 : 0;
  }

  accept(): void {
    this.#isAccepted = true;
  }

  async claim(): Promise<readonly Leaving[]> {
    await this.run(false);
    return [];
  }

  async renew(): Promise<void> {}

  async drain(): Promise<void> {
    this.#isAccepted = false;
  }

  /** `now`: whether or not it is time. True where nothing is left; false where it is, or somebody still reads it. */
  async run(now: boolean): Promise<boolean> {
    if (this.#db.dialect.name !== "sqlite") return true;
    for (;;) {
      const rows = await this.#query(listUnclean(this.#db.dialect, BATCH));
      const marked = rows.map((row) => UNCLEAN.read(row));
      const { flushes } = this.#options.writer;
      const rebuilds = marked.length > 0 && (now || (await this.#mayRebuild()));
      if (!rebuilds && !now && !this.#isDue && flushes === this.#flushes) return marked.length === 0;
      if (rebuilds) await this.#rebuild();
      this.#flushes = flushes;
      this.#isDue = !(await this.#truncate());
      if (this.#isDue) return false;
      if (!rebuilds) return marked.length === 0;
      await this.#query(markClean(this.#db.dialect, marked));
      if (marked.length < BATCH) return true;
    }
  }

  async #mayRebuild(): Promise<boolean> {
    const { host, rebuildEveryMs } = this.#options;
    if (host.clock.monotonicMs() - this.#rebuiltAtMs < rebuildEveryMs) return false;
    // Rows of virtual tables may know rows of others by numbers that a rebuild changes.
    if ((await this.#query(findVirtualTable())).length === 0) return true;
    if (!this.#hasWarned) {
      host.warn(
        {},
        "amends: the file has virtual tables, so it is not rebuilt unasked; erased data may be left in its gaps until you call erasure.cleanUp()",
      );
    }
    this.#hasWarned = true;
    return false;
  }

  async #rebuild(): Promise<void> {
    await this.#query(rebuildFile());
    this.#rebuiltAtMs = this.#options.host.clock.monotonicMs();
  }

  /** False where another connection still reads what was there before. */
  async #truncate(): Promise<boolean> {
    const [answer = {}] = await this.#query(truncateLog());
    return !TRUNCATED.read(answer).busy;
  }

  #query(statement: Sql): Promise<readonly Row[]> {
    return persist(this.#db, () => this.#db.query(statement), retryLimitsOf(this.#options.host));
  }
}
