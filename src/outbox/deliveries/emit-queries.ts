/** Events that steps of sagas emit, which are unrouted rows, and calls that follow the ends of sagas. */
import type { Limits } from "../../core/start/limits.ts";
import { int, text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields, type Fields } from "../../storage/fields.ts";
import { laneOf } from "../../storage/limits/lane.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";

export interface EmittedRow {
  readonly entryId: string;
  readonly name: string;
  readonly version: number;
  readonly payload: string | null;
  readonly sagaId: string;
  /** The limits by key of a call. */
  readonly limits?: Limits | undefined;
}

/** To be spread into a larger declaration: the condition may need further fields. */
export const EMITTED: Fields<EmittedRow> = fields<EmittedRow>({
  entry_id: uuid(({ entryId }) => entryId),
  name: text(({ name }) => name),
  saga_id: text(({ sagaId }) => sagaId),
  payload: text(({ payload }) => payload),
  event_version: int(({ version }) => version),
});

/** Inserts if the condition over `r` holds. An existing row is not changed. */
export function insertEmitted<From extends EmittedRow>(
  dialect: Dialect,
  given: Fields<From>,
  rows: readonly From[],
  condition: Sql,
): Sql {
  return sql`insert into ${dialect.table("outbox")} (${EMITTED.names}, event_id, kind, enqueued_at)
    select ${EMITTED.list()}, r.entry_id, 'event', ${dialect.now()}
    from ${dialect.rows(given, rows)} where ${condition} on conflict do nothing`;
}

const LIMITED: Fields<EmittedRow> = fields<EmittedRow>({
  lane: text(({ name, limits }) => laneOf(name, limits)),
  limits: text(({ limits }) => limits && JSON.stringify(limits)),
  concurrency_key: text(({ limits }) => limits?.concurrency?.key),
});

/** The same for durable calls. */
export function insertEmittedCalls<From extends EmittedRow>(
  dialect: Dialect,
  given: Fields<From>,
  rows: readonly From[],
  condition: Sql,
): Sql {
  const isLimited = rows.some(({ limits }) => limits);
  const sent = isLimited ? fields<From>({ ...given.shape, ...LIMITED.shape }) : given;
  const columns = isLimited ? LIMITED.names : raw("lane");
  return sql`insert into ${dialect.table("outbox")} (entry_id, kind, name, payload, saga_id, enqueued_at, ${columns})
    select r.entry_id, 'call', r.name, r.payload, r.saga_id, ${dialect.now()}, ${isLimited ? LIMITED.list() : raw("r.name")}
    from ${dialect.rows(sent, rows)} where ${condition} on conflict do nothing`;
}
