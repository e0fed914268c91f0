/** The worker's statements: what to send where, and what became of it. It reads views, and adds attempts. */
import type { JobReport } from "../../core/delivery/job.ts";
import type { UniqueKey } from "../../storage/checked-write.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";

/** Where these jobs go. One job of each subscription is enough to ask with. */
export function selectTargets(dialect: Dialect, jobIds: readonly string[]): Sql {
  return sql`select t.subscription_id, t.status, t.url, t.secrets, t.timeout_ms, t.attempt_max,
      ${dialect.epochMs(dialect.now())} as now_at
    from ${dialect.table("webhook_targets")} as t
    where ${dialect.among(raw("t.job_id"), jobIds, "bigint")}`;
}

/** Each payload once, to however many subscriptions it goes. */
export function selectPayloads(dialect: Dialect, eventIds: readonly string[]): Sql {
  return sql`select e.event_id, e.event_key, e.type, e.payload, e.traceparent
    from ${dialect.table("webhook_payloads")} as e
    where ${dialect.among(raw("e.event_id"), eventIds, "bigint")}`;
}

const ATTEMPT: readonly Column[] = [
  { name: "report", type: "uuid" },
  { name: "job_id", type: "bigint" },
  { name: "saga_id", type: "bigint" },
  { name: "token", type: "bigint" },
  { name: "ok", type: "int", default: 1 },
  { name: "code", type: "text", default: "http_200" },
  { name: "url", type: "text" },
  { name: "sent_ms", type: "bigint" },
  { name: "status", type: "int", default: 200 },
  { name: "duration_ms", type: "int" },
  { name: "response_headers", type: "text" },
  { name: "response_body", type: "text" },
];

const PLAIN = ATTEMPT.map(({ name }) => name).filter((name) => name !== "ok" && name !== "sent_ms");

/**
 * What a report came to, by the job as it is after the jobs of this transaction were settled. The same report again adds
 * nothing: a commit whose answer was lost is only repeated.
 */
export function insertAttempts(dialect: Dialect, reports: readonly JobReport[]): Sql {
  const verdict = sql`case when j.id is null or j.saga_id <> r.saga_id then 'foreign' when j.report = r.report then 'accepted'
    when j.token = r.token then 'repeated' else 'late' end`;
  return sql`${added(dialect, reports, verdict)}
    left join ${dialect.table("webhook_jobs")} as j on j.id = r.job_id where true
    on conflict (report) do nothing`;
}

/** A report that is on record already is refused by this key. */
export const RECORDED_REPORT: UniqueKey = {
  table: "webhook_attempts",
  constraint: "webhook_attempts_report",
  columns: ["report"],
};

/** Where each report is known to have ended its job in this transaction. */
export function insertOptimistic(dialect: Dialect, reports: readonly JobReport[]): Sql {
  return added(dialect, reports, raw("'accepted'"));
}

function added(dialect: Dialect, reports: readonly JobReport[], verdict: Sql): Sql {
  return sql`insert into ${dialect.table("webhook_attempts")}
      (${raw(PLAIN.join(", "))}, verdict, ok, sent_at, created_at)
    select ${raw(PLAIN.map((name) => `r.${name}`).join(", "))}, ${verdict}, r.ok = 1,
      ${dialect.instantOf(raw("r.sent_ms"))}, ${dialect.now()}
    from ${dialect.rows(ATTEMPT, reports.map(attemptRow))}`;
}

export function selectVerdicts(dialect: Dialect, reports: readonly string[]): Sql {
  const rows = reports.map((report) => [report]);
  return sql`select a.report, a.verdict from ${dialect.rows(ATTEMPT.slice(0, 1), rows)}
    join ${dialect.table("webhook_attempts")} as a on a.report = r.report`;
}

function attemptRow({ report, job, result, attempt }: JobReport): readonly unknown[] {
  return [
    report,
    job.id,
    job.deliveryId,
    job.token,
    result.ok ? 1 : 0,
    result.code,
    attempt.url,
    attempt.sentAtMs,
    attempt.status,
    attempt.durationMs,
    attempt.responseHeaders,
    attempt.responseBody,
  ];
}
