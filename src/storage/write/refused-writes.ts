/**
 * Writes that the database refuses for a reason that lies in the database, not in the write: a missing right, a missing
 * table, a database that is read-only. The process keeps what it knows, writes it again with a backoff, and records the
 * refusal here, so that attention and doctor tell it. The record is best effort: the same login may not write it either.
 */
import { delayMs, type Backoff } from "../../core/backoff.ts";
import { isLasting, type AmendsError, type ErrorCode } from "../../core/errors.ts";
import { sleep } from "../clock.ts";
import { int, optional, text } from "../column.ts";
import type { Database, Dialect } from "../database.ts";
import { sourceOf, type Selection, type Source } from "../read/selection.ts";
import { whatWasSaid } from "../refusal.ts";
import { raw, sql, type Sql } from "../sql.ts";
import { table, type Table } from "../table.ts";

/** Writes of one part that the database refuses. */
export interface RefusedWrites {
  readonly error: AmendsError;
  /** How many outcomes wait; 0 once all of them are written. */
  readonly waiting: number;
}

const SCHEDULE: Backoff = { baseMs: 500, capMs: 30_000, factor: 2 };

export interface RefusalOptions {
  readonly db: Pick<Database, "clock">;
  readonly signal?: AbortSignal | undefined;
  /** Called at each refusal, and once nothing is refused any more. */
  readonly onRefused?: ((refused: RefusedWrites) => void) | undefined;
}

/** The items of one writer that the database refuses for a lasting reason: how often, how many wait, and when each is sent again. */
export class RefusedItems<Item extends object> {
  readonly #options: RefusalOptions;
  /** How often each was refused. */
  readonly #refusals = new Map<Item, number>();
  #last: AmendsError | undefined;

  constructor(options: RefusalOptions) {
    this.#options = options;
  }

  /** Reports these items, and waits before they are sent again. */
  async refused(items: readonly Item[], error: AmendsError): Promise<void> {
    const { db, signal, onRefused } = this.#options;
    const counts = items.map((item) => (this.#refusals.get(item) ?? 0) + 1);
    items.forEach((item, index) => this.#refusals.set(item, counts[index] as number));
    this.#last = error;
    onRefused?.({ error, waiting: this.#refusals.size });
    await sleep(db.clock, delayMs(SCHEDULE, Math.max(...counts)), signal);
  }

  /** These are written, or their callers know that they are not. */
  settled(items: readonly Item[]): void {
    if (this.#refusals.size === 0) return;
    for (const item of items) this.#refusals.delete(item);
    if (this.#refusals.size === 0 && this.#last) this.#options.onRefused?.({ error: this.#last, waiting: 0 });
  }
}

/** Repeats work that the database refuses for a lasting reason until it is done or the signal aborts. */
export async function outlastRefusals<T>(work: () => Promise<T>, options: RefusalOptions): Promise<T> {
  const refused = new RefusedItems<() => Promise<T>>(options);
  try {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isLasting(error) || options.signal?.aborted) throw error;
        await refused.refused([work], error);
        if (options.signal?.aborted) throw error;
      }
    }
  } finally {
    refused.settled([work]);
  }
}

/** One refusal that a process has reported lately. */
export interface ReportedRefusal {
  readonly operation: string;
  readonly code: ErrorCode;
  readonly state: string;
  readonly said: string;
  readonly advice: string;
  readonly waiting: number;
  readonly owner: string | undefined;
}

const REFUSED: Table<ReportedRefusal> = table("refused_writes", {
  operation: text("operation"),
  code: text<ErrorCode>("code"),
  state: text("state"),
  said: text("said"),
  advice: text("advice"),
  waiting: int("waiting"),
  owner: optional(text("owner")),
});

/** A process reports again at each try: a refusal that none has reported for this long is over. */
const FRESH_MS = 120_000;

function fresh(dialect: Dialect): Sql {
  return sql`${dialect.plusMs(raw("w.seen_at"), FRESH_MS)} > ${dialect.now()} and w.waiting > 0`;
}

/** Reports a refusal, or that it is over. */
export function reportRefusal(
  dialect: Dialect,
  operation: string,
  owner: string,
  refused: RefusedWrites,
): Sql {
  const { error, waiting } = refused;
  const { state, said } = whatWasSaid(error);
  const now = dialect.now();
  return sql`insert into ${REFUSED.of(dialect)} as w (id, operation, code, state, said, advice, waiting, owner, since, seen_at)
    values (${`${operation}:${error.code}`}, ${operation}, ${error.code}, ${state}, ${said}, ${error.message}, ${waiting}, ${owner}, ${now}, ${now})
    on conflict (id) do update set since = case when ${fresh(dialect)} then w.since else excluded.since end,
      state = excluded.state, said = excluded.said, advice = excluded.advice, waiting = excluded.waiting,
      owner = excluded.owner, seen_at = excluded.seen_at`;
}

function refusedRows(dialect: Dialect): Selection {
  return {
    from: sql`${REFUSED.of(dialect)} as w`,
    where: fresh(dialect),
    at: raw("w.since"),
    id: raw("w.id"),
    columns: REFUSED.columns(dialect, "w"),
  };
}

/** What the database refuses now, the oldest first. */
export const reportedRefusals: Source<ReportedRefusal> = sourceOf(refusedRows, (row) => REFUSED.read(row));
