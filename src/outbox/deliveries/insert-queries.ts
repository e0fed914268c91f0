/** The stages and statements that insert event rows: publications and follow-ups of outcomes. */
import { CLAIMABLE, settled, SUPERSEDED } from "../../core/outbox/machine.ts";
import { bigint, flag, instant, int, text, uuid, type Field } from "../../storage/column.ts";
import type { UniqueKey, WriteMode } from "../../storage/write/checked-write.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields, type Fields } from "../../storage/fields.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { CLAIMED } from "./claim-queries.ts";
import { causedFields, causedRows, type Caused } from "./outcome-queries.ts";
import { FANS, type DeliveryRow, type NewDelivery } from "./row.ts";

const APART = String(FANS.indexOf("apart"));
const ALONE = FANS.indexOf("alone");
const ROUTED = settled("succeed");

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

/** What decides about the lane of a row, and about the rows for handlers that only other processes know. */
const FOREIGN: Readonly<Record<string, Field<DeliveryInsert>>> = {
  fan: int(({ row }) => FANS.indexOf(row.fan), { default: 0 }),
  event_correlation: text(({ row }) => row.eventCorrelation, { default: null }),
  lane_of: text(({ row }) => row.laneOf, { default: null }),
};

const WAITING_INSERT = fields<DeliveryInsert>({ ...EVENT.shape, ...FOREIGN });

const INSERT = causedFields<DeliveryInsert>({
  ...EVENT.shape,
  ...FOREIGN,
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
  return raw(`coalesce(coalesce(${alias}.lane_of, ${alias}.handler) || '@' || ${alias}.event_version, '')`);
}

/** In an optimistic write, the key refuses a row that exists. Otherwise an existing row is not changed. */
const ON_CONFLICT: Readonly<Record<WriteMode, Sql>> = {
  optimistic: empty,
  checked: raw(" on conflict do nothing"),
};

export const DELIVERY_KEY: UniqueKey = { table: "outbox", constraint: "outbox_pkey", columns: ["entry_id"] };

/**
 * The handlers that are registered for the events of a statement and that its process does not know in the same way: a select
 * of `event`, `handler`, `recipient`, `hash` and `is_step`. It is part of the statement, so that it is as new as the events.
 */
export type Heard = Sql;

/** Rows that wait for any worker. */
export function insertWaiting(
  dialect: Dialect,
  inserts: readonly DeliveryInsert[],
  mode: WriteMode,
  heard: Heard,
): Sql {
  return sql`with heard as materialized (${heard}),
    n as materialized (select r.*, ${dialect.now()} as written_at from ${dialect.rows(WAITING_INSERT, inserts)})
    insert into ${dialect.table("outbox")} (${EVENT.names}, kind, lane, status, enqueued_at)
    select ${EVENT.list("n")}, ${kindOf("n")}, ${laneOf("n")}, ${statusOfOwn(literals([WAITING]))}, n.written_at from n where ${IS_OWN}
    union all select ${foreignRows(dialect)}${ON_CONFLICT[mode]}`;
}

export interface InsertOptions {
  readonly mode: WriteMode;
  readonly heard: Heard;
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
  { mode, heard, isCaused, hasBegun, leaseMs, returning }: InsertOptions,
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
  const noInstant = dialect.pick({ postgres: "null::timestamptz", sqlite: "null" });
  // MATERIALIZED, otherwise the planner computes the status once per use.
  return sql`with heard as materialized (${heard}),
    n as materialized (select r.*, ${status} as status, ${now} as written_at from ${relation} where ${condition})
    insert into ${outbox} (${EVENT.names}, kind, lane, status, enqueued_at, attempts, token, last_attempt_at, next_attempt_at)
    select ${EVENT.list("n")}, ${kindOf("n")}, ${laneOf("n")}, ${statusOfOwn(raw("n.status"))}, n.written_at,
      case when ${isOurs} then 1 else 0 end, case when ${isOurs} then n.first_token else 0 end,
      case when ${isOurs} then ${now} end, case when ${isOurs} then ${dialect.plusMs(now, leaseMs)} end
    from n where ${IS_OWN} union all select ${foreignRows(dialect, ["0", "0", noInstant, noInstant])}${ON_CONFLICT[mode]} returning ${returning}`;
}

/**
 * A row is left out if the table knows its handler as the step of a saga that this process does not have, or if it is an
 * event without handlers here that others have handlers for. The row of an event that a run sends is kept for its trail.
 */
const IS_OWN =
  raw(`case when n.handler is null then n.saga_id is not null or not exists (select 1 from heard where heard.event = n.name)
      else not exists (select 1 from heard where heard.event = n.name and heard.handler = n.handler and heard.is_step = 1) end`);

function statusOfOwn(status: Sql): Sql {
  return sql`case when n.handler is null and n.saga_id is not null and exists (select 1 from heard where heard.event = n.name)
      then ${literals([ROUTED])} else ${status} end`;
}

/** Texts that are the same for every statement: they are long, and a publication of one event would be slow to build them. */
const cached = new WeakMap<Dialect, Map<string, Sql>>();

/**
 * One row for each event and each handler that is known to others: the columns of `EVENT`, kind, lane, status, the instant, and
 * `more`. `n.written_at` is the instant of the statement.
 */
function foreignRows(dialect: Dialect, more: readonly string[] = []): Sql {
  let texts = cached.get(dialect);
  if (!texts) cached.set(dialect, (texts = new Map<string, Sql>()));
  const key = more.join();
  let rows = texts.get(key);
  if (!rows) texts.set(key, (rows = raw(foreignText(dialect, more))));
  return rows;
}

function foreignText(dialect: Dialect, more: readonly string[]): string {
  const values: Readonly<Record<string, string>> = {
    entry_id: deliveryIdOf(dialect, "n.event_id", "h.hash"),
    handler: "h.recipient",
    correlation: `case when n.fan = ${APART} then n.event_correlation else n.correlation end`,
    saga_id: `case when n.fan <> ${APART} then n.saga_id end`,
  };
  const names = EVENT.all.map(({ name }) => name);
  const columns = names.map((name) => `${values[name] ?? `n.${name}`} as ${name}`);
  const listed = [...names, "kind", "lane", "status", "enqueued_at"].map((name) => `o.${name}`);
  return `${[...listed, ...more].join(", ")} from (
      select ${columns.join(", ")}, 'delivery' as kind, h.recipient || '@' || n.event_version as lane, ${literals([WAITING]).text} as status,
        n.written_at as enqueued_at, row_number() over (partition by n.event_id, h.recipient order by n.fan, n.entry_id) as place
      from n join (select distinct event, recipient, hash from heard) as h on h.event = n.name where n.fan < ${ALONE}) as o
    where o.place = 1`;
}

/** What `deliveryId` computes. SQLite has no function that reads hexadecimal digits. */
function deliveryIdOf(dialect: Dialect, eventId: string, hash: string): string {
  const digit = (at: number): string =>
    `((instr('0123456789abcdef', substr(${eventId}, ${29 + at}, 1)) - 1) << ${28 - 4 * at})`;
  const tail = `(${Array.from({ length: 8 }, (_, at) => digit(at)).join(" + ")})`;
  return dialect.pick({
    postgres: `(substr(${eventId}::text, 1, 28) || lpad(to_hex(('x' || substr(${eventId}::text, 29))::bit(32)::bigint # ${hash}), 8, '0'))::uuid`,
    sqlite: `substr(${eventId}, 1, 28) || printf('%08x', (${tail} | ${hash}) - (${tail} & ${hash}))`,
  });
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
