/**
 * How a part makes durable what its calls led to. Outcomes that gather while a commit is under way share the next one
 * (storage/write/group-writer.ts), and every other piece of database work of the part waits for the database within the same
 * limits. Sagas, outbox, events and webhooks each have one, with their own `write`.
 *
 * `write` is one transaction for a whole group. It must be safe to repeat after a commit whose answer was lost, and
 * answers for each outcome whether it is written (storage/write/checked-write.ts).
 */
import type { Database, Row } from "../storage/database.ts";
import { GroupWriter } from "../storage/write/group-writer.ts";
import { BRIEF_RETRIES, persist, type RetryLimits } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";

export interface OutcomeWriterOptions<Outcome, Answer> {
  readonly db: Pick<Database, "dialect" | "clock" | "query">;
  readonly write: (outcomes: readonly Outcome[]) => Promise<readonly Answer[]>;
  /** About how much it adds to the transaction. */
  readonly bytes: (outcome: Outcome) => number;
  /** Does somebody wait for this outcome, so that an outage must be reported rather than waited for? Default: no. */
  readonly failFast?: (outcome: Outcome) => boolean;
  /** So many waiting outcomes are worth a second commit beside the first. Default: 250; none on SQLite. */
  readonly parallelFrom?: number;
  /** Ends every wait for the database. */
  readonly signal?: AbortSignal | undefined;
  readonly onTrouble?: ((error: unknown, attempt: number) => void) | undefined;
}

const PARALLEL_FROM = 250;

export class OutcomeWriter<Outcome, Answer> {
  readonly #db: OutcomeWriterOptions<Outcome, Answer>["db"];
  readonly #retryLimits: RetryLimits;
  readonly #writer: GroupWriter<Outcome, Answer>;

  constructor(options: OutcomeWriterOptions<Outcome, Answer>) {
    const { db, write, bytes, failFast = () => false, signal, onTrouble } = options;
    this.#db = db;
    this.#retryLimits = { ...BRIEF_RETRIES, signal, onTrouble };
    this.#writer = new GroupWriter<Outcome, Answer>({
      db,
      flush: write,
      bytes,
      failFast,
      // A second commit would wait for the first where the database has one writer.
      parallelFrom: db.dialect.pick({ postgres: options.parallelFrom ?? PARALLEL_FROM, sqlite: Infinity }),
      ...(signal && { signal }),
      ...(onTrouble && { onTrouble }),
    });
  }

  /** Resolves once the outcome is durable, with what `write` answered for it. */
  submit(outcome: Outcome): Promise<Answer> {
    return this.#writer.submit(outcome);
  }

  /** Resolves once nothing is waiting or under way. */
  drained(): Promise<void> {
    return this.#writer.drained();
  }

  /** Commits so far. */
  get flushes(): number {
    return this.#writer.flushes;
  }

  /** Other work on the database, repeated after trouble that passes. It must be safe to repeat. */
  persist<T>(work: () => Promise<T>): Promise<T> {
    return persist(this.#db, work, this.#retryLimits);
  }

  /** One statement, likewise. */
  query(statement: Sql, limitMs?: number): Promise<readonly Row[]> {
    return this.persist(() => this.#db.query(statement, limitMs));
  }
}
