/**
 * Writes the outcomes of a part's calls with group commit: outcomes that arrive during a commit share the next one
 * (storage/write/group-writer.ts). The part's other database work has the same retry limits. Sagas, outbox, events
 * and webhooks each have one, with their own `write`.
 *
 * `write` is one transaction for a whole group. It must be safe to repeat after a commit whose answer was lost, and
 * answers for each outcome whether it is written (storage/write/checked-write.ts).
 */
import type { Database, Row } from "../storage/database.ts";
import { GroupWriter, type Submission } from "../storage/write/group-writer.ts";
import { outlastRefusals, type RefusedWrites } from "../storage/write/refused-writes.ts";
import { BRIEF_RETRIES, persist, type DatabaseWatch, type RetryLimits } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";

export interface OutcomeWriterOptions<Outcome, Answer> {
  readonly db: Pick<Database, "dialect" | "clock" | "callMs" | "query">;
  readonly write: (outcomes: readonly Outcome[]) => Promise<readonly Answer[]>;
  /** The approximate size of an outcome in the transaction. */
  readonly bytes: (outcome: Outcome) => number;
  /**
   * True if a caller waits for this outcome, so that an outage is reported instead of waited out. Default: false.
   */
  readonly failFast?: (outcome: Outcome) => boolean;
  /** The number of waiting outcomes from which a second commit runs in parallel. Default: 250; never on SQLite. */
  readonly parallelFrom?: number;
  /** Ends every wait for the database. */
  readonly signal?: AbortSignal | undefined;
  readonly watch?: DatabaseWatch | undefined;
  /** Called while the database refuses outcomes for a lasting reason, and once it no longer does. */
  readonly onRefused?: ((refused: RefusedWrites) => void) | undefined;
}

const PARALLEL_FROM = 250;

export class OutcomeWriter<Outcome, Answer> {
  readonly #db: OutcomeWriterOptions<Outcome, Answer>["db"];
  readonly #retryLimits: RetryLimits;
  readonly #onRefused: OutcomeWriterOptions<Outcome, Answer>["onRefused"];
  readonly #writer: GroupWriter<Outcome, Answer>;

  constructor(options: OutcomeWriterOptions<Outcome, Answer>) {
    const { db, write, bytes, failFast = () => false, signal, watch, onRefused } = options;
    this.#db = db;
    this.#onRefused = onRefused;
    this.#retryLimits = { ...BRIEF_RETRIES, signal, watch };
    this.#writer = new GroupWriter<Outcome, Answer>({
      db,
      flush: write,
      bytes,
      failFast,
      onRefused,
      // With a single writer, a second commit would wait for the first.
      parallelFrom: db.dialect.pick({ postgres: options.parallelFrom ?? PARALLEL_FROM, sqlite: Infinity }),
      ...(signal && { signal }),
      watch,
    });
  }

  /** Resolves once the outcome is durable, with the answer of `write`. */
  submit(outcome: Outcome): Promise<Answer> {
    return this.#writer.submit(outcome);
  }

  /** The same without a promise: the submission is told. */
  enqueue(submission: Submission<Outcome, Answer>): void {
    this.#writer.enqueue(submission);
  }

  /** Resolves once all submitted outcomes are written. */
  drained(): Promise<void> {
    return this.#writer.drained();
  }

  /** The number of commits. */
  get flushes(): number {
    return this.#writer.flushes;
  }

  /** Runs other database work, with retries after transient errors. The work must be idempotent. */
  persist<T>(work: () => Promise<T>): Promise<T> {
    return persist(this.#db, work, this.#retryLimits);
  }

  /** The same for work that a worker cannot go on without: a lasting refusal of the database is waited out. */
  outlast<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#retryLimits;
    return outlastRefusals(() => this.persist(work), { db: this.#db, signal, onRefused: this.#onRefused });
  }

  /** Runs one statement with the same retries. */
  query(statement: Sql, limitMs?: number): Promise<readonly Row[]> {
    return this.persist(() => this.#db.query(statement, limitMs));
  }
}
