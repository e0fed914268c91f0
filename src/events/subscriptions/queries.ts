/** The statements on `event_handlers`: registration, heartbeat, and what the statements that publish read of it. */
import type { SubscriptionKind } from "../../core/flow/subscription.ts";
import { bigint, int, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import type { DeliveryInsert, Heard } from "../../outbox/deliveries/insert-queries.ts";

/** A handler of a process, as it is registered. */
export interface Registration {
  readonly event: string;
  readonly handler: string;
  readonly kind: SubscriptionKind;
  /** The newest version of the event that the process can read. */
  readonly version: number;
  readonly saga: string | undefined;
  readonly step: string | undefined;
  /** The name under which its deliveries are stored. */
  readonly recipient: string;
  readonly hash: number;
}

const REGISTRATION = fields<Registration>({
  event: text(({ event }) => event),
  handler: text(({ handler }) => handler),
  kind: text(({ kind }) => kind),
  version: int(({ version }) => version),
  saga: text(({ saga }) => saga),
  step: text(({ step }) => step),
  recipient: text(({ recipient }) => recipient),
  hash: bigint(({ hash }) => hash),
});

const TABLE = "event_handlers";

/**
 * Registers these handlers, the first of a key in front, so that two processes lock them in one order. One that was retired
 * begins anew. A process that does not know the saga of a handler leaves its row alone, and does not keep it alive.
 */
export function register(dialect: Dialect, registrations: readonly Registration[]): Sql {
  const now = dialect.now();
  const isAnew = raw("h.retired_at is not null");
  const from = (name: string): Sql => raw(`${name} = excluded.${name}`);
  return sql`insert into ${dialect.table(TABLE)} as h (${REGISTRATION.names}, registered_at, seen_at)
    select ${REGISTRATION.list()}, ${now}, ${now} from ${dialect.rows(REGISTRATION, registrations)} where true
    on conflict (event, handler) do update set ${from("kind")},
      version = case when ${isAnew} or excluded.version > h.version then excluded.version else h.version end,
      ${from("saga")}, ${from("step")}, ${from("recipient")}, ${from("hash")}, ${from("seen_at")},
      registered_at = case when ${isAnew} then excluded.registered_at else h.registered_at end, retired_at = null
    where ${isAnew} or h.saga is null or excluded.saga is not null`;
}

/** A registration that was heard of this lately is not written again: several workers serve the same handlers. */
const FRESH_MS = 30_000;

/** Keeps registrations alive, and adds those that are missing. One that was retired stays so. */
export function keepAlive(dialect: Dialect, registrations: readonly Registration[]): Sql {
  const table = dialect.table(TABLE);
  const now = dialect.now();
  const isFresh = sql`h.seen_at > ${dialect.plusMs(now, -FRESH_MS)}`;
  return sql`insert into ${table} as h (${REGISTRATION.names}, registered_at, seen_at)
    select ${REGISTRATION.list()}, ${now}, ${now} from ${dialect.rows(REGISTRATION, registrations)}
    where not exists (select 1 from ${table} as h where h.event = r.event and h.handler = r.handler
      and (h.retired_at is not null or ${isFresh} or (h.saga is not null and r.saga is null)))
    on conflict (event, handler) do update set seen_at = excluded.seen_at where h.retired_at is null`;
}

/** The names of two steps whose deliveries of one event would have the same id. */
export const CLASH: Projection<{ readonly recipient: string; readonly other: string }> = projection({
  recipient: text("recipient"),
  other: text("other"),
});

export function findClash(dialect: Dialect, registrations: readonly Registration[]): Sql {
  return sql`select r.recipient, h.recipient as other from ${dialect.rows(REGISTRATION, registrations)}
    join ${dialect.table(TABLE)} as h on h.event = r.event and h.hash = r.hash and h.recipient <> r.recipient and h.retired_at is null limit 1`;
}

/**
 * What is known of the handler of a claimed delivery, whose columns have no alias: `step:` or `undo:` and its saga; null for
 * any other handler.
 */
export function placeOf(dialect: Dialect): Sql {
  return sql`(select h.place from (select event as on_event, handler as of_handler, kind || ':' || saga as place
    from ${dialect.table(TABLE)} where kind in ('step', 'undo') and retired_at is null) as h where h.on_event = name and h.of_handler = handler)`;
}

/** How a registration is compared with the handlers that a process knows. */
const KEY = "h.event || ' ' || h.handler || case when h.kind = 'step' then ' ' || h.saga else '' end";

/** The rows of an event name every handler that its process knows. */
export function heardOf(dialect: Dialect, inserts: readonly DeliveryInsert[]): Heard {
  const known = new Map<string, Map<string, string | undefined>>();
  for (const { row } of inserts) {
    if (row.handler === undefined) continue;
    let handlers = known.get(row.name);
    if (!handlers) known.set(row.name, (handlers = new Map<string, string | undefined>()));
    if (!handlers.has(row.handler)) handlers.set(row.handler, row.saga);
  }
  const keys: string[] = [];
  for (const [event, handlers] of known)
    for (const [handler, saga] of handlers) {
      keys.push(`${event} ${handler}`);
      if (saga !== undefined) keys.push(`${event} ${handler} ${saga}`);
    }
  return sql`select h.event, h.handler, h.recipient, h.hash, case when h.kind = 'step' then 1 else 0 end as is_step
    from ${dialect.table(TABLE)} as h where h.retired_at is null and not (${dialect.among(raw(`(${KEY})`), keys)})`;
}
