/** The statements on subscriptions. */
import {
  subscriptionMachine,
  type SubscriptionEvent,
  type SubscriptionStatus,
} from "../../core/delivery/machine.ts";
import type { Filter } from "../../core/delivery/filter.ts";
import { flag, float, id as idOf, instant, int, json, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, table, type Projection, type Table } from "../../storage/table.ts";
import type { CheckedSettings } from "./settings.ts";

/** A signing secret as it is stored: sealed if there is a key, and with an end if a newer one has replaced it. */
export interface KeptSecret {
  readonly text: string;
  readonly untilMs?: number;
}

/** All but the secrets: a role that only looks may not read those. Instants are milliseconds since the epoch. */
interface StoredSubscription {
  readonly id: string;
  readonly key: string | undefined;
  readonly url: string;
  readonly description: string | undefined;
  readonly status: SubscriptionStatus;
  readonly reason: string | undefined;
  readonly events: readonly string[];
  readonly filter: Filter;
  readonly attemptMax: number | undefined;
  readonly concurrency: number;
  readonly intervalMs: number;
  readonly timeoutMs: number | undefined;
  readonly ordered: boolean;
  readonly secretEnds: readonly (number | null)[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

const SUBSCRIPTION: Table<StoredSubscription> = table("webhook_subscriptions", {
  id: idOf("id"),
  key: optional(text("subscription_key")),
  url: text("url"),
  description: optional(text("description")),
  status: text<SubscriptionStatus>("status"),
  reason: optional(text("reason")),
  events: json<readonly string[]>("events"),
  filter: json<Filter>("filter"),
  attemptMax: optional(int("attempt_max")),
  concurrency: int("concurrency"),
  intervalMs: int("interval_ms"),
  timeoutMs: optional(int("timeout_ms")),
  ordered: flag("ordered"),
  secretEnds: json<readonly (number | null)[]>("secret_ends"),
  createdAt: instant("created_at"),
  updatedAt: instant("updated_at"),
});

/** With what is known of its lane. */
export interface SubscriptionRow extends StoredSubscription {
  readonly failingSince: number | undefined;
  readonly failures: number;
  readonly nowMs: number;
}

export const SUBSCRIPTION_ROW: Projection<SubscriptionRow> = projection({
  ...SUBSCRIPTION.shape,
  failingSince: optional(float("failing_since")),
  failures: int("failures"),
  nowMs: float("now_at"),
});

function select(dialect: Dialect): Sql {
  return sql`select ${SUBSCRIPTION.columns(dialect, "p")}, ${dialect.epochMs(raw("n.failing_since"))} as failing_since,
      coalesce(n.failures, 0) as failures, ${dialect.epochMs(dialect.now())} as now_at
    from ${SUBSCRIPTION.of(dialect)} as p
    left join ${dialect.table("webhook_lanes")} as n on n.subscription_id = p.id`;
}

export function selectSubscription(dialect: Dialect, id: string, lock: boolean): Sql {
  return sql`${select(dialect)} where p.id = ${id} ${lock ? dialect.forUpdateOf("p") : empty}`;
}

export interface SubscriptionFilter {
  readonly status?: SubscriptionStatus | undefined;
  readonly limit: number;
  readonly after?: string | undefined;
  /** Default: `oldest`. */
  readonly order?: "oldest" | "newest" | undefined;
}

export function listSubscriptions(
  dialect: Dialect,
  { status, limit, after, order = "oldest" }: SubscriptionFilter,
): Sql {
  const [beyond, way] = order === "oldest" ? [raw(">"), raw("asc")] : [raw("<"), raw("desc")];
  return sql`${select(dialect)}
    where true ${after === undefined ? empty : sql`and p.id ${beyond} ${after}`}
      ${status === undefined ? empty : sql`and p.status = ${literals([status])}`}
    order by p.id ${way} limit ${limit}`;
}

export const SUBSCRIPTION_ID: Projection<{ readonly id: string }> = projection({ id: idOf("id") });

/** By the id that its subscriber chose. */
export function selectByKey(dialect: Dialect, key: string): Sql {
  return sql`select p.id from ${SUBSCRIPTION.of(dialect)} as p where p.subscription_key = ${key}`;
}

export const SECRETS: Projection<{ readonly secrets: readonly KeptSecret[] }> = projection({
  secrets: json<readonly KeptSecret[]>("secrets"),
});

export function selectSecrets(dialect: Dialect, id: string): Sql {
  return sql`select p.secrets from ${SUBSCRIPTION.of(dialect)} as p where p.id = ${id}`;
}

const [FIRST] = subscriptionMachine.states as [SubscriptionStatus];

/** Answers with nothing if the key exists. */
export function insertSubscription(
  dialect: Dialect,
  settings: CheckedSettings,
  key: string | undefined,
): Sql {
  const { url, description, attemptMax, concurrency, intervalMs, timeoutMs, ordered } = settings;
  return sql`insert into ${SUBSCRIPTION.of(dialect)} (subscription_key, url, description, status, events, filter, secrets,
      attempt_max, concurrency, interval_ms, timeout_ms, ordered, created_at, updated_at)
    values (${key ?? null}, ${url}, ${description}, ${literals([FIRST])}, ${JSON.stringify(settings.events)},
      ${JSON.stringify(settings.filter)}, '[]', ${attemptMax}, ${concurrency}, ${intervalMs}, ${timeoutMs},
      ${truth(dialect, ordered)}, ${dialect.now()}, ${dialect.now()})
    on conflict do nothing returning id`;
}

export function updateSettings(dialect: Dialect, id: string, settings: CheckedSettings): Sql {
  const { url, description, attemptMax, concurrency, intervalMs, timeoutMs, ordered } = settings;
  return sql`update ${SUBSCRIPTION.of(dialect)} set url = ${url}, description = ${description},
      events = ${JSON.stringify(settings.events)}, filter = ${JSON.stringify(settings.filter)}, attempt_max = ${attemptMax},
      concurrency = ${concurrency}, interval_ms = ${intervalMs}, timeout_ms = ${timeoutMs},
      ordered = ${truth(dialect, ordered)}, updated_at = ${dialect.now()}
    where id = ${id}`;
}

function truth(dialect: Dialect, value: boolean): Sql {
  return dialect.pick({ postgres: raw(String(value)), sqlite: raw(value ? "1" : "0") });
}

const PATTERN = fields<string>({ pattern: text((pattern) => pattern) });

const PAIR = fields<readonly [name: string, value: string]>({
  attribute: text(([name]) => name),
  value: text(([, value]) => value),
});

/** The rows that routing looks at, made anew. */
export function replaceRoutes(
  dialect: Dialect,
  id: string,
  events: readonly string[],
  filter: Filter,
): readonly Sql[] {
  const types = dialect.table("webhook_subscription_types");
  const filters = dialect.table("webhook_subscription_filters");
  const pairs = Object.entries(filter).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  return [
    sql`delete from ${types} where subscription_id = ${id}`,
    sql`delete from ${filters} where subscription_id = ${id}`,
    sql`insert into ${types} (subscription_id, pattern)
      select cast(${id} as bigint), r.pattern from ${dialect.rows(PATTERN, events)}`,
    ...(pairs.length === 0
      ? []
      : [
          sql`insert into ${filters} (subscription_id, attribute, value)
            select cast(${id} as bigint), r.attribute, r.value from ${dialect.rows(PAIR, pairs)}`,
        ]),
  ];
}

/** When each of them ends is kept beside them, for people who may not read them. */
export function setSecrets(dialect: Dialect, id: string, secrets: readonly KeptSecret[]): Sql {
  const ends = secrets.map(({ untilMs }) => untilMs ?? null);
  return sql`update ${SUBSCRIPTION.of(dialect)}
    set secrets = ${JSON.stringify(secrets)}, secret_ends = ${JSON.stringify(ends)}, updated_at = ${dialect.now()}
    where id = ${id}`;
}

export const MOVED: Projection<{ readonly id: string; readonly updatedAtMs: number }> = projection({
  id: idOf("id"),
  updatedAtMs: float("updated_at"),
});

/** Moves subscriptions along one arrow; those that have none from where they are stay. */
export function moveSubscriptions(
  dialect: Dialect,
  event: SubscriptionEvent,
  ids: readonly string[],
  reason: string | null,
): Sql {
  const sources = subscriptionMachine.sources(event);
  const target = subscriptionMachine.target(sources[0] as SubscriptionStatus, event) as SubscriptionStatus;
  return sql`update ${SUBSCRIPTION.of(dialect)} set status = ${literals([target])}, reason = ${reason}, updated_at = ${dialect.now()}
    where ${dialect.among(raw("id"), ids, "bigint")} and status in (${literals(sources)})
    returning id, ${dialect.epochMs(raw("updated_at"))} as updated_at`;
}

/** Disabled subscriptions, along the index that holds only them. */
export function disabledRows(dialect: Dialect): Selection {
  const disabled = subscriptionMachine.target("Active", "disable") as SubscriptionStatus;
  return {
    from: sql`${SUBSCRIPTION.of(dialect)} as p`,
    where: sql`p.status = ${literals([disabled])}`,
    at: raw("p.updated_at"),
    id: raw("p.id"),
    columns: raw("p.id, p.url, p.description, p.status, p.reason"),
  };
}
