/**
 * On SQLite, overwritten bytes survive in two places: in the write-ahead file (WAL), until it is checkpointed and
 * truncated, and in gaps of the database's pages. When SQLite moves a row to another page it leaves the bytes
 * behind, also with secure_delete; only VACUUM removes them. Amends cannot observe the commit of the caller's
 * transaction, so the request leaves a mark in it, and this chore of the worker looks for marks. It truncates the
 * WAL at once. It rebuilds the file at most once per interval: first for the local erasure, and again when the
 * calls to other systems have ended and their values are cleared. PostgreSQL does the same by itself (vacuum).
 */
import type { OutboxWriter } from "../outbox/outcome-writer.ts";
import type { Database, Row } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";
import { NEVER_MS } from "../runtime/chore.ts";
import type { Duty, DutyLook, Leaving } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import {
  anyUnclean,
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
  /** Infinite if the file is only rebuilt on request. */
  readonly rebuildEveryMs: number;
}

export class CleanUp implements Duty {
  readonly name: string = "outbox:clean-up";
  readonly capacity: number = 1;
  readonly renewEveryMs: number = NEVER_MS;
  readonly look: DutyLook = {
    expression: () => (this.#db.dialect.name === "sqlite" ? anyUnclean(this.#db.dialect) : undefined),
    read: (value) => this.#untilMs(Number(value) === 1),
  };
  readonly #db: Database;
  readonly #options: CleanUpOptions;
  /** Marks from before the start of this process may exist, too. */
  #isDue = true;
  /** The flush count of this process at the last truncation of the WAL. */
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

  async renew(): Promise<boolean> {
    return false;
  }

  async drain(): Promise<void> {
    this.#isAccepted = false;
  }

  /**
   * `now` ignores the interval. True if nothing is left to clean up; false if something is, or another connection
   * still reads it.
   */
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

  /** The milliseconds until there is something to do. Rows are marked until the file was rebuilt. */
  #untilMs(isMarked: boolean): number | undefined {
    const { host, writer, rebuildEveryMs } = this.#options;
    if (this.#isDue || writer.flushes !== this.#flushes) return 0;
    return isMarked ? this.#rebuiltAtMs + rebuildEveryMs - host.clock.monotonicMs() : undefined;
  }

  async #mayRebuild(): Promise<boolean> {
    const { host, rebuildEveryMs } = this.#options;
    if (host.clock.monotonicMs() - this.#rebuiltAtMs < rebuildEveryMs) return false;
    // Virtual tables may refer to rows by rowids, which a rebuild changes.
    if ((await this.#query(findVirtualTable())).length === 0) return true;
    if (!this.#hasWarned) {
      host.warn(
        {},
        "amends: the database has virtual tables, so it is not rebuilt automatically; erased data may remain in free pages until you call erasure.cleanUp()",
      );
    }
    this.#hasWarned = true;
    return false;
  }

  async #rebuild(): Promise<void> {
    await this.#query(rebuildFile());
    this.#rebuiltAtMs = this.#options.host.clock.monotonicMs();
  }

  /** False if another connection still reads the old data. */
  async #truncate(): Promise<boolean> {
    const [answer = {}] = await this.#query(truncateLog());
    return !TRUNCATED.read(answer).busy;
  }

  #query(statement: Sql): Promise<readonly Row[]> {
    return persist(
      this.#db,
      () => this.#db.query(statement),
      retryLimitsOf(this.#options.host, "clean up erased data"),
    );
  }
}
