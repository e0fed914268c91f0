/** The sender's statements: they read what to send from views, and insert attempts. */
import type { JobReport, Verdict } from "../../core/delivery/job.ts";
import type { SubscriptionStatus } from "../../core/delivery/machine.ts";
import { bigint, flag, float, id, int, json, optional, text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { joinNamed } from "./job-queries.ts";

/** A signing secret as it is stored: sealed if there is a key, and with an end if a newer one has replaced it. */
export interface StoredSecret {
  readonly text: string;
  readonly untilMs?: number;
}

/** Where a subscription's deliveries go, and how. */
export interface Target {
  readonly subscriptionId: string;
  readonly status: SubscriptionStatus;
  readonly url: string;
  readonly secrets: readonly StoredSecret[];
  readonly timeoutMs: number | undefined;
  readonly attemptMax: number | undefined;
  /** When this was read, by the database's clock. */
  readonly nowMs: number;
}

export const TARGET: Projection<Target> = projection({
  subscriptionId: id("subscription_id"),
  status: text<SubscriptionStatus>("status"),
  url: text("url"),
  secrets: json<readonly StoredSecret[]>("secrets"),
  timeoutMs: optional(int("timeout_ms")),
  attemptMax: optional(int("attempt_max")),
  nowMs: float("now_at"),
});

/** Where these jobs go. One job of each subscription is enough to ask with. */
export function selectTargets(dialect: Dialect, jobIds: readonly string[]): Sql {
  return sql`select t.subscription_id, t.status, t.url, t.secrets, t.timeout_ms, t.attempt_max,
      ${dialect.epochMs(dialect.now())} as now_at
    from ${dialect.table("webhook_targets")} as t
    where ${dialect.among(raw("t.job_id"), jobIds, "bigint")}`;
}

/** An event as it is sent. */
export interface Payload {
  readonly eventId: string;
  readonly key: string;
  readonly type: string;
  readonly payload: string;
  readonly traceparent: string | undefined;
}

export const PAYLOAD: Projection<Payload> = projection({
  eventId: id("event_id"),
  key: text("event_key"),
  type: text("type"),
  payload: text("payload"),
  traceparent: optional(text("traceparent")),
});

/** Each payload once, for any number of subscriptions. */
export function selectPayloads(dialect: Dialect, eventIds: readonly string[]): Sql {
  return sql`select e.event_id, e.event_key, e.type, e.payload, e.traceparent
    from ${dialect.table("webhook_payloads")} as e
    where ${dialect.among(raw("e.event_id"), eventIds, "bigint")}`;
}

/** Columns that are stored as they are sent. */
const PLAIN = fields<JobReport>({
  report: uuid(({ report }) => report),
  job_id: bigint(({ job }) => job.id),
  saga_id: bigint(({ job }) => job.deliveryId),
  token: bigint(({ job }) => job.token),
  code: text(({ result }) => result.code, { default: "http_200" }),
  url: text(({ attempt }) => attempt.url),
  status: int(({ attempt }) => attempt.status, { default: 200 }),
  duration_ms: int(({ attempt }) => attempt.durationMs),
  response_headers: text(({ attempt }) => attempt.responseHeaders),
  response_body: text(({ attempt }) => attempt.responseBody),
});

const ATTEMPT = fields<JobReport>({
  ...PLAIN.shape,
  ok: flag(({ result }) => result.ok, { default: 1 }),
  sent_ms: bigint(({ attempt }) => attempt.sentAtMs),
});

/**
 * Every report becomes a line that stays. Its verdict follows from the job as it is after the jobs of this transaction
 * were settled. The same report again adds nothing: a commit whose answer was lost is only repeated.
 */
export function insertAttempts(dialect: Dialect, reports: readonly JobReport[]): Sql {
  const verdict = sql`case when j.id is null or j.saga_id <> r.saga_id then 'foreign' when j.report = r.report then 'accepted'
    when j.token = r.token then 'repeated' else 'late' end`;
  return sql`insert into ${dialect.table("webhook_attempts")} (${PLAIN.names}, verdict, ok, sent_at, created_at)
    select ${PLAIN.list()}, ${verdict}, r.ok = 1, ${dialect.instantOf(raw("r.sent_ms"))}, ${dialect.now()}
    from ${dialect.rows(ATTEMPT, reports)} ${joinNamed(dialect)} where true
    on conflict (report) do nothing`;
}

const REPORT = ATTEMPT.pick("report");

export const VERDICT: Projection<{ readonly report: string; readonly verdict: Verdict }> = projection({
  report: text("report"),
  verdict: text<Verdict>("verdict"),
});

/** The verdicts of recorded reports. */
export function selectVerdicts(dialect: Dialect, reports: readonly JobReport[]): Sql {
  return sql`select a.report, a.verdict from ${dialect.rows(REPORT, reports)}
    join ${dialect.table("webhook_attempts")} as a on a.report = r.report`;
}
