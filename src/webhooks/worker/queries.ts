/** The worker's statements: what to send where, and what became of it. It reads views, and adds attempts. */
import type { JobReport, Verdict } from "../../core/delivery/job.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";

export function selectTargets(dialect: Dialect, jobIds: readonly string[]): Sql {
  return sql`select t.job_id, t.event_id, t.status, t.url, t.secrets, t.timeout_ms, t.attempt_max,
      ${dialect.epochMs(dialect.now())} as now_at
    from ${dialect.table("webhook_targets")} as t where ${dialect.among(raw("t.job_id"), jobIds, "bigint")}`;
}

/** Each payload once, to however many subscriptions it goes. */
export function selectPayloads(dialect: Dialect, eventIds: readonly string[]): Sql {
  return sql`select e.event_id, e.event_key, e.type, e.payload
    from ${dialect.table("webhook_payloads")} as e where ${dialect.among(raw("e.event_id"), eventIds, "bigint")}`;
}

const ATTEMPT: readonly Column[] = [
  { name: "report", type: "uuid" },
  { name: "job_id", type: "bigint" },
  { name: "saga_id", type: "bigint" },
  { name: "token", type: "int" },
  { name: "verdict", type: "text" },
  { name: "ok", type: "int" },
  { name: "code", type: "text" },
  { name: "url", type: "text" },
  { name: "sent_ms", type: "bigint" },
  { name: "status", type: "int" },
  { name: "duration_ms", type: "int" },
  { name: "response_headers", type: "text" },
  { name: "response_body", type: "text" },
];

const PLAIN = ATTEMPT.map(({ name }) => name).filter((name) => name !== "ok" && name !== "sent_ms");

/** The same report again adds nothing. */
export function insertAttempts(
  dialect: Dialect,
  reports: readonly { readonly report: JobReport; readonly verdict: Verdict }[],
): Sql {
  const sent = dialect.instantOf(raw("r.sent_ms"));
  return sql`insert into ${dialect.table("webhook_attempts")}
      (${raw(PLAIN.join(", "))}, ok, sent_at, created_at)
    select ${raw(PLAIN.map((name) => `r.${name}`).join(", "))},
      r.ok = 1, ${sent}, ${dialect.now()}
    from ${dialect.rows(ATTEMPT, reports.map(attemptRow))} where true
    on conflict (report) do nothing`;
}

function attemptRow({ report: one, verdict }: { report: JobReport; verdict: Verdict }): readonly unknown[] {
  const { report, job, result, attempt } = one;
  return [
    report,
    job.id,
    job.deliveryId,
    job.token,
    verdict,
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
