/** Abandoned entries of one kind, as the items of a bulk action. */
import type { OutboxKind } from "../../core/outbox/entry.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Search } from "../../storage/read/search.ts";
import { join, raw, sql } from "../../storage/sql.ts";
import { abandonedRows } from "./list-queries.ts";

export interface AbandonedFilter {
  /** The name of the call or the resolver. */
  readonly name?: string | undefined;
  /** The label of the last error. */
  readonly error?: string | undefined;
  /** When the entry was enqueued: at this instant or later. */
  readonly fromMs?: number | undefined;
  /** The same: before this instant. */
  readonly toMs?: number | undefined;
  /** The last attempt began before this instant. */
  readonly triedBeforeMs: number;
}

/** By the instant at which they were enqueued. A message may follow the label of an error. */
export function abandonedItems(dialect: Dialect, kind: OutboxKind, filter: AbandonedFilter): Search {
  const { name, error, fromMs, toMs, triedBeforeMs } = filter;
  const rows = abandonedRows(dialect, kind);
  const range = [
    rows.where,
    ...(fromMs === undefined ? [] : [sql`${rows.at} >= ${dialect.instantOf(fromMs)}`]),
    ...(toMs === undefined ? [] : [sql`${rows.at} < ${dialect.instantOf(toMs)}`]),
  ];
  const label = dialect.pick({
    postgres: raw("split_part(c.last_error, ': ', 1)"),
    sqlite: raw(
      "(case when instr(c.last_error, ': ') > 0 then substr(c.last_error, 1, instr(c.last_error, ': ') - 1) else c.last_error end)",
    ),
  });
  return {
    from: rows.from,
    at: rows.at,
    id: rows.id,
    where: join(range, " and "),
    item: raw("c.entry_id"),
    fits: [
      sql`coalesce(c.last_attempt_at, c.enqueued_at) < ${dialect.instantOf(triedBeforeMs)}`,
      ...(name === undefined ? [] : [sql`c.name = ${name}`]),
      ...(error === undefined ? [] : [sql`${label} = ${error}`]),
    ],
  };
}
