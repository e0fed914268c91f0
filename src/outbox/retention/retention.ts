/**
 * Removes finished entries. The outbox has no index of them, because it would add a write to each entry. Ids begin
 * with their creation time, so the primary key lists the oldest entries first; ids that a caller chose may sort
 * elsewhere and are scanned afterwards. Each sweep continues where the previous one stopped.
 */
import { flag, uuid } from "../../storage/column.ts";
import { readNowMs } from "../../storage/database-time.ts";
import type { Dialect, Session } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import { projection } from "../../storage/table.ts";
import { deleteEntries, lookThrough, type EntryTerms } from "./queries.ts";

const LOOKED = projection({ id: uuid("entry_id"), mayGo: flag("gone") });

export interface EntrySweep {
  readonly removed: number;
  /** False once the whole outbox was scanned. */
  readonly more: boolean;
}

const LOWEST = "00000000-0000-0000-0000-000000000000";
const HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const DAY_MS = 86_400_000;

export class EntryRetention {
  readonly #terms: EntryTerms;
  readonly #runExists: (dialect: Dialect) => Sql;
  readonly #keptMs: number;
  #place = { range: 0, after: LOWEST };

  /** `runExists`: the condition, over `p.saga_id`, that the run of an entry still exists. */
  constructor(terms: EntryTerms, runExists: (dialect: Dialect) => Sql) {
    const { doneMs = Number.POSITIVE_INFINITY, untakenMs = Number.POSITIVE_INFINITY } = terms;
    this.#terms = terms;
    this.#runExists = runExists;
    this.#keptMs = Math.min(doneMs, untakenMs);
  }

  /** Scans the next `batch` entries and removes those past their retention. */
  async sweep(session: Session, batch: number): Promise<EntrySweep> {
    const { dialect } = session;
    const nowMs = await readNowMs(session);
    const ranges = [
      [LOWEST, idOf(nowMs - this.#keptMs)],
      [idOf(nowMs + DAY_MS), HIGHEST],
    ] as const;
    const { range, after } = this.#place;
    const [start, end] = ranges[range] as (typeof ranges)[number];
    const stretch = { after: after > start ? after : start, end, limit: batch };
    const rows = await session.query(lookThrough(dialect, stretch, this.#terms, this.#runExists(dialect)));
    const looked = rows.map((row) => LOOKED.read(row));
    const ids = looked.filter(({ mayGo }) => mayGo).map(({ id }) => id);
    if (ids.length > 0) await session.query(deleteEntries(dialect, ids));
    const last = looked.length < batch ? undefined : looked.at(-1)?.id;
    const isOver = last === undefined && range === ranges.length - 1;
    this.#place =
      last !== undefined ? { range, after: last } : { range: isOver ? 0 : range + 1, after: LOWEST };
    return { removed: ids.length, more: !isOver };
  }
}

/** The lowest id of this instant. */
function idOf(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}
