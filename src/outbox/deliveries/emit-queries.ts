/** Events that steps of sagas emit, which are unrouted rows, and calls that follow the ends of sagas. */
import { int, text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields, type Fields } from "../../storage/fields.ts";
import { sql, type Sql } from "../../storage/sql.ts";

export interface EmittedRow {
  readonly entryId: string;
  readonly name: string;
  readonly version: number;
  readonly payload: string | null;
  readonly sagaId: string;
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

/** The same for durable calls. */
export function insertEmittedCalls<From extends EmittedRow>(
  dialect: Dialect,
  given: Fields<From>,
  rows: readonly From[],
  condition: Sql,
): Sql {
  return sql`insert into ${dialect.table("outbox")} (entry_id, kind, lane, name, payload, saga_id, enqueued_at)
    select r.entry_id, 'call', r.name, r.name, r.payload, r.saga_id, ${dialect.now()}
    from ${dialect.rows(given, rows)} where ${condition} on conflict do nothing`;
}
