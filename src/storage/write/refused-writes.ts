/**
 * Writes that the database refuses for a reason that lies in the database, not in the write: a missing right, a missing
 * table, a database that is read-only. The process keeps what it knows, writes it again with a backoff, and records the
 * refusal here, so that attention and doctor tell it. The record is best effort: the same login may not write it either.
 */
import { delayMs, type Backoff } from "../../core/backoff.ts";
import { AmendsError, type ErrorCode } from "../../core/errors.ts";
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

const LASTING: ReadonlySet<ErrorCode> = new Set([
  "DATABASE_FORBIDDEN",
  "SCHEMA_MISSING",
  "DATABASE_READ_ONLY",
]);

/** True if the write may succeed unchanged once a person has repaired the database. */
export function isLasting(error: unknown): error is AmendsError {
  return error instanceof AmendsError && LASTING.has(error.code);
}

const SCHEDULE: Backoff = { baseMs: 500, capMs: 30_000, factor: 2 };

/** Waits before a refused write is sent again. */
export function waitForRepair(
  { clock }: Pick<Database, "clock">,
  refusals: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return sleep(clock, delayMs(SCHEDULE, refusals), signal);
}

/** Repeats work that the database refuses for a lasting reason until it is done or the signal aborts. */
export async function outlastRefusals<T>(
  db: Pick<Database, "clock">,
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
  onRefused: (refused: RefusedWrites) => void = () => undefined,
): Promise<T> {
  let last: AmendsError | undefined;
  try {
    for (let refusals = 1; ; refusals++) {
      try {
        return await work();
      } catch (error) {
        if (!isLasting(error) || signal?.aborted) throw error;
        last = error;
        onRefused({ error, waiting: 1 });
        await waitForRepair(db, refusals, signal);
        if (signal?.aborted) throw error;
      }
    }
  } finally {
    if (last) onRefused({ error: last, waiting: 0 });
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
