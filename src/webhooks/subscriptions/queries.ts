/** The statements on subscriptions. */
import {
  subscriptionMachine,
  type SubscriptionEvent,
  type SubscriptionStatus,
} from "../../core/delivery/machine.ts";
import type { Filter } from "../../core/delivery/filter.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { CheckedSettings } from "./settings.ts";

const table = (dialect: Dialect): Sql => dialect.table("webhook_subscriptions");

export function insertSubscription(dialect: Dialect, settings: CheckedSettings): Sql {
  const { url, description, attemptMax, concurrency, intervalMs, timeoutMs, ordered } = settings;
  return sql`insert into ${table(dialect)} (url, description, status, events, filter, secrets, attempt_max, concurrency,
      interval_ms, timeout_ms, ordered, created_at, updated_at)
    values (${url}, ${description}, 'Active', ${JSON.stringify(settings.events)}, ${JSON.stringify(settings.filter)}, '[]',
      ${attemptMax}, ${concurrency}, ${intervalMs}, ${timeoutMs}, ${truth(dialect, ordered)}, ${dialect.now()}, ${dialect.now()})
    returning id`;
}

export function updateSettings(dialect: Dialect, id: string, settings: CheckedSettings): Sql {
  const { url, description, attemptMax, concurrency, intervalMs, timeoutMs, ordered } = settings;
  return sql`update ${table(dialect)} set url = ${url}, description = ${description},
      events = ${JSON.stringify(settings.events)}, filter = ${JSON.stringify(settings.filter)}, attempt_max = ${attemptMax},
      concurrency = ${concurrency}, interval_ms = ${intervalMs}, timeout_ms = ${timeoutMs},
      ordered = ${truth(dialect, ordered)}, updated_at = ${dialect.now()}
    where id = ${id}`;
}

function truth(dialect: Dialect, value: boolean): Sql {
  return raw(dialect.name === "postgres" ? String(value) : value ? "1" : "0");
}

const TYPE: readonly Column[] = [{ name: "pattern", type: "text" }];
const FILTER: readonly Column[] = [
  { name: "attribute", type: "text" },
  { name: "value", type: "text" },
];

/** The rows that routing looks at, made anew. */
export function replaceRoutes(
  dialect: Dialect,
  id: string,
  events: readonly string[],
  filter: Filter,
): readonly Sql[] {
  const types = dialect.table("webhook_subscription_types");
  const filters = dialect.table("webhook_subscription_filters");
  const pairs = Object.entries(filter).flatMap(([name, values]) => values.map((value) => [name, value]));
  const patterns = events.map((pattern) => [pattern]);
  return [
    sql`delete from ${types} where subscription_id = ${id}`,
    sql`delete from ${filters} where subscription_id = ${id}`,
    sql`insert into ${types} (subscription_id, pattern)
      select cast(${id} as bigint), r.pattern from ${dialect.rows(TYPE, patterns)}`,
    ...(pairs.length === 0
      ? []
      : [
          sql`insert into ${filters} (subscription_id, attribute, value)
            select cast(${id} as bigint), r.attribute, r.value from ${dialect.rows(FILTER, pairs)}`,
        ]),
  ];
}

export function setSecrets(dialect: Dialect, id: string, secrets: string): Sql {
  return sql`update ${table(dialect)} set secrets = ${secrets}, updated_at = ${dialect.now()} where id = ${id}`;
}

/** Moves subscriptions along one arrow; those that have none from where they are stay. */
export function moveSubscriptions(
  dialect: Dialect,
  event: SubscriptionEvent,
  ids: readonly string[],
  reason: string | null,
): Sql {
  const sources = subscriptionMachine.sources(event);
  const target = subscriptionMachine.target(sources[0] as SubscriptionStatus, event) as SubscriptionStatus;
  return sql`update ${table(dialect)} set status = ${literals([target])}, reason = ${reason}, updated_at = ${dialect.now()}
    where ${dialect.among(raw("id"), ids, "bigint")} and status in (${literals(sources)})
    returning id, url, ${dialect.epochMs(raw("updated_at"))} as updated_at`;
}

/** Those that have done nothing but fail for so long, and so often, and are not disabled yet. */
export function lastingFailures(
  dialect: Dialect,
  ids: readonly string[],
  afterMs: number,
  failures: number,
): Sql {
  return sql`select p.id from ${table(dialect)} as p
    join ${dialect.table("webhook_lanes")} as n on n.subscription_id = p.id
    where ${dialect.among(raw("p.id"), ids, "bigint")} and p.status in (${literals(subscriptionMachine.sources("disable"))})
      and n.failures >= ${failures} and ${dialect.plusMs(raw("n.failing_since"), afterMs)} <= ${dialect.now()}`;
}

const columns = (
  dialect: Dialect,
): Sql => sql`p.id, p.url, p.description, p.status, p.reason, p.events, p.filter,
  p.secrets, p.attempt_max, p.concurrency, p.interval_ms, p.timeout_ms, case when p.ordered then 1 else 0 end as ordered,
  ${dialect.epochMs(raw("p.created_at"))} as created_at, ${dialect.epochMs(raw("p.updated_at"))} as updated_at,
  ${dialect.epochMs(raw("n.failing_since"))} as failing_since, coalesce(n.failures, 0) as failures,
  ${dialect.epochMs(dialect.now())} as now_at`;

export function selectSubscription(dialect: Dialect, id: string, lock: boolean): Sql {
  return sql`select ${columns(dialect)} from ${table(dialect)} as p
    left join ${dialect.table("webhook_lanes")} as n on n.subscription_id = p.id
    where p.id = ${id} ${lock ? dialect.forUpdateOf("p") : empty}`;
}

export interface SubscriptionFilter {
  readonly status?: SubscriptionStatus | undefined;
  readonly limit: number;
  readonly after?: string | undefined;
  /** Default: oldest. */
  readonly order?: "oldest" | "newest" | undefined;
}

export function listSubscriptions(
  dialect: Dialect,
  { status, limit, after, order = "oldest" }: SubscriptionFilter,
): Sql {
  const [beyond, way] = order === "oldest" ? [raw(">"), raw("asc")] : [raw("<"), raw("desc")];
  return sql`select ${columns(dialect)} from ${table(dialect)} as p
    left join ${dialect.table("webhook_lanes")} as n on n.subscription_id = p.id
    where true ${after === undefined ? empty : sql`and p.id ${beyond} ${after}`}
      ${status === undefined ? empty : sql`and p.status = ${literals([status])}`}
    order by p.id ${way} limit ${limit}`;
}

/** Disabled subscriptions, along the index that holds only them. */
export function disabledRows(dialect: Dialect): Selection {
  const disabled = subscriptionMachine.target("Active", "disable") as SubscriptionStatus;
  return {
    from: sql`${table(dialect)} as p`,
    where: sql`p.status = ${literals([disabled])}`,
    at: raw("p.updated_at"),
    id: raw("p.id"),
    columns: raw("p.id, p.url, p.reason"),
  };
}
