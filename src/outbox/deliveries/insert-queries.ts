/** The stages and statements that insert event rows: publications and follow-ups of outcomes. */
import { CLAIMABLE, settled, SUPERSEDED } from "../../core/outbox/machine.ts";
import { bigint, flag, instant, int, text, uuid } from "../../storage/column.ts";
import type { UniqueKey, WriteMode } from "../../storage/write/checked-write.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields, type Fields } from "../../storage/fields.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { CLAIMED } from "./claim-queries.ts";
import { causedFields, causedRows, type Caused } from "./outcome-queries.ts";
import type { DeliveryRow, NewDelivery } from "./row.ts";

/** A row, and how it is written. */
export interface DeliveryInsert extends Caused {
  readonly row: NewDelivery;
  /** Insert the row as claimed by this process, unless an earlier delivery of its correlation is open. */
  readonly isClaimed: boolean;
}

/** The columns that have their field's name. */
const EVENT: Fields<DeliveryInsert> = fields<DeliveryInsert>({
  entry_id: uuid(({ row }) => row.id),
  name: text(({ row }) => row.name),
  event_id: uuid(({ row }) => row.eventId),
  payload: text(({ row }) => row.payload),
  handler: text(({ row }) => row.handler),
  correlation: text(({ row }) => row.correlation),
  causation: uuid(({ row }) => row.causation),
  saga_id: text(({ row }) => row.sagaId),
  event_version: int(({ row }) => row.version, { default: 1 }),
  traceparent: text(({ row }) => row.trace, { default: null }),
});

const INSERT = causedFields<DeliveryInsert>({
  ...EVENT.shape,
  /** 0 for a row that is not claimed at once. */
  first_token: bigint(({ row, isClaimed }) => (isClaimed ? row.firstToken : 0)),
  opens: flag(({ row }) => row.opens, { default: 0 }),
  // The settled delivery, if its handler also gets the follow-up event: it does not block the new row.
  own_id: uuid(({ row, cause }) => (cause?.delivery.handler === row.handler ? cause?.delivery.id : null), {
    default: null,
  }),
});

const WAITING = settled("release");

function kindOf(alias: string): Sql {
  return raw(`case when ${alias}.handler is null then 'event' else 'delivery' end`);
}

function laneOf(alias: string): Sql {
  return raw(`coalesce(${alias}.handler || '@' || ${alias}.event_version, '')`);
}

/** In an optimistic write, the key refuses a row that exists. Otherwise an existing row is not changed. */
const ON_CONFLICT: Readonly<Record<WriteMode, Sql>> = {
  optimistic: empty,
  checked: raw(" on conflict do nothing"),
};

export const DELIVERY_KEY: UniqueKey = { table: "outbox", constraint: "outbox_pkey", columns: ["entry_id"] };

/** Rows that wait for any worker. */
export function insertWaiting(dialect: Dialect, inserts: readonly DeliveryInsert[], mode: WriteMode): Sql {
  return sql`insert into ${dialect.table("outbox")} (${EVENT.names}, kind, lane, enqueued_at)
    select ${EVENT.list()}, ${kindOf("r")}, ${laneOf("r")}, ${dialect.now()}
    from ${dialect.rows(EVENT, inserts)} where true${ON_CONFLICT[mode]}`;
}

export interface InsertOptions {
  readonly mode: WriteMode;
  /** A row is written only if the delivery that causes it is settled. */
  readonly isCaused: boolean;
  /** The run `r.saga_id` begins with this statement. */
  readonly hasBegun: Sql;
  readonly leaseMs: number;
  readonly returning: Sql;
}

/**
 * Inserts rows, some of them as claimed or as the trigger of a run. A row whose run did not begin is superseded.
 */
export function insertDeliveries(
  dialect: Dialect,
  inserts: readonly DeliveryInsert[],
  { mode, isCaused, hasBegun, leaseMs, returning }: InsertOptions,
): Sql {
  const outbox = dialect.table("outbox");
  const now = dialect.now();
  const { relation, condition } = causedRows(dialect, INSERT, inserts, isCaused);
  const isFirst = sql`(r.correlation is null or not exists (select 1 from ${outbox} as b where b.handler = r.handler
    and b.correlation = r.correlation and b.entry_id < r.entry_id and b.status in (${literals(CLAIMABLE)})
    and (r.own_id is null or b.entry_id <> r.own_id)))`;
  const status = sql`case when r.opens = 1 and not ${hasBegun} then ${literals([SUPERSEDED])}
    when r.first_token > 0 and ${isFirst} then ${literals([CLAIMED])} else ${literals([WAITING])} end`;
  const isOurs = sql`n.status = ${literals([CLAIMED])}`;
  // MATERIALIZED, otherwise the planner computes the status once per use.
  return sql`with n as materialized (select r.*, ${status} as status from ${relation} where ${condition})
    insert into ${outbox} (${EVENT.names}, kind, lane, status, attempts, token, enqueued_at, last_attempt_at, next_attempt_at)
    select ${EVENT.list("n")}, ${kindOf("n")}, ${laneOf("n")}, n.status,
      case when ${isOurs} then 1 else 0 end, case when ${isOurs} then n.first_token else 0 end, ${now},
      case when ${isOurs} then ${now} end, case when ${isOurs} then ${dialect.plusMs(now, leaseMs)} end
    from n where true${ON_CONFLICT[mode]} returning ${returning}`;
}

/** The inserted rows that this process claimed. */
export const IS_CLAIMED: Sql = sql`status = ${literals([CLAIMED])}`;

/** A row that was inserted as claimed, with its creation time. */
export const CLAIMED_ROW: Projection<Pick<DeliveryRow, "id" | "timeMs">> = projection({
  id: uuid("entry_id"),
  timeMs: instant("at"),
});

/** The rows that an earlier commit with a lost answer inserted as claimed and that are still claimed. */
export function findClaimed(dialect: Dialect, rows: readonly NewDelivery[]): Sql {
  return sql`select c.entry_id, ${dialect.epochMs(raw("c.enqueued_at"))} as at
    from ${dialect.rows(FIRST_CLAIMS, rows)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id
    where c.token = r.row_token and c.status = ${literals([CLAIMED])}`;
}

const FIRST_CLAIMS = fields<NewDelivery>({
  row_id: uuid(({ id }) => id),
  row_token: bigint(({ firstToken }) => firstToken),
});
