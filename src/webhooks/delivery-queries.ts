/** What operators ask about deliveries and attempts. Reads only: states are the orchestrator's. */
import { checkSerial } from "../core/delivery/serial.ts";
import type { DeliveryStatus } from "../core/delivery/machine.ts";
import type { Verdict } from "../core/delivery/job.ts";
import type { Dialect, Row } from "../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../storage/sql.ts";

/** What one event owes one subscription. */
export interface Delivery {
  /** The id of the delivery. */
  readonly id: string;
  /** The id of the event. */
  readonly eventId: string;
  /** The type of the event. */
  readonly eventType: string;
  /** The number of the subscription. */
  readonly subscriptionId: string;
  /** The state of the delivery. */
  readonly status: DeliveryStatus;
  /** The number of attempts that counted. */
  readonly attemptCount: number;
  /** The limit that was last decided by. */
  readonly attemptMax: number | undefined;
  /** When it is tried next; undefined if it is not. */
  readonly nextAttemptAt: Date | undefined;
  /** Of the last failed attempt; undefined once it has arrived. */
  readonly errorCode: string | undefined;
  /** 0 for what was routed, then one more for each time it was sent anew. */
  readonly generation: number;
  /** The dead delivery that it takes the place of. */
  readonly requeuedFrom: string | undefined;
  /** When it was made, by the database's clock. */
  readonly createdAt: Date;
  /** When it last changed, by the database's clock. */
  readonly updatedAt: Date;
}

/** One result of one call: what was sent where, when, and what came back. */
export interface Attempt {
  /** The id of the attempt. */
  readonly id: string;
  /** The delivery that it belongs to. */
  readonly deliveryId: string;
  /** The job that made it. */
  readonly jobId: string;
  /** `accepted` counted; the others were noted and changed nothing. */
  readonly verdict: Verdict;
  /** Whether the receiver took the delivery. */
  readonly ok: boolean;
  /** The label of the result, such as `http_503`. */
  readonly code: string;
  /** Where it went; undefined if it was never sent. */
  readonly url: string | undefined;
  /** Undefined where nothing was sent. */
  readonly sentAt: Date | undefined;
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** How long it took, in milliseconds. */
  readonly durationMs: number;
  /** The headers of the answer. */
  readonly responseHeaders: Readonly<Record<string, string>> | undefined;
  /** The beginning of the answer's body. */
  readonly responseBody: string | undefined;
  /** When it was recorded, by the database's clock. */
  readonly createdAt: Date;
}

/** Which deliveries are listed. */
export interface DeliveryFilter {
  /** Only of this subscription. */
  readonly subscriptionId?: string;
  /** Only of this event. */
  readonly eventId?: string;
  /** Only in this state. */
  readonly status?: DeliveryStatus;
  /** Default: 100. */
  readonly limit?: number;
  /** The id of the last delivery of the previous page. */
  readonly after?: string;
}

/** Newest first. */
export function listDeliveries(dialect: Dialect, filter: DeliveryFilter, limit: number): Sql {
  const { subscriptionId, eventId, status, after } = filter;
  const conditions = [
    subscriptionId === undefined
      ? empty
      : sql`and s.subscription_id = ${checkSerial(subscriptionId, "a subscription")}`,
    eventId === undefined
      ? empty
      : sql`and s.event_id = (select k.id from ${dialect.table("webhook_events")} as k where k.event_key = ${eventId})`,
    status === undefined ? empty : sql`and s.status = ${literals([status])}`,
    after === undefined ? empty : sql`and s.id < ${checkSerial(after, "a delivery")}`,
  ];
  // From the lowest id on: so each database sees that it goes along a key from one place to another.
  return sql`${selectDeliveries(dialect)} where s.id > 0 ${conditions[0]} ${conditions[1]} ${conditions[2]} ${conditions[3]}
    order by s.id desc limit ${limit}`;
}

export function selectDelivery(dialect: Dialect, id: string): Sql {
  return sql`${selectDeliveries(dialect)} where s.id = ${id}`;
}

/** Deliveries as `s`, with what they deliver. */
export function selectDeliveries(dialect: Dialect): Sql {
  const ms = (column: string): Sql => sql`${dialect.epochMs(raw(`s.${column}`))} as ${raw(column)}`;
  return sql`select s.id, e.event_key, e.type, s.subscription_id, s.status, s.attempt_count, s.attempt_max,
      s.final_error_code, s.generation, s.requeued_from, ${ms("next_attempt_at")}, ${ms("created_at")}, ${ms("updated_at")}
    from ${dialect.table("webhook_delivery_sagas")} as s
    join ${dialect.table("webhook_events")} as e on e.id = s.event_id`;
}

export function selectAttempts(dialect: Dialect, deliveryId: string): Sql {
  const ms = (column: string): Sql => sql`${dialect.epochMs(raw(`a.${column}`))} as ${raw(column)}`;
  return sql`select a.id, a.saga_id, a.job_id, a.verdict, case when a.ok then 1 else 0 end as ok, a.code, a.url, a.status,
      a.duration_ms, a.response_headers, a.response_body, ${ms("sent_at")}, ${ms("created_at")}
    from ${dialect.table("webhook_attempts")} as a where a.saga_id = ${deliveryId} order by a.id`;
}

const optional = <T>(value: unknown, as: (value: unknown) => T): T | undefined =>
  value === null || value === undefined ? undefined : as(value);
const date = (value: unknown): Date => new Date(Number(value));

export function toDelivery(row: Row): Delivery {
  return {
    id: String(row["id"]),
    eventId: row["event_key"] as string,
    eventType: row["type"] as string,
    subscriptionId: String(row["subscription_id"]),
    status: row["status"] as DeliveryStatus,
    attemptCount: Number(row["attempt_count"]),
    attemptMax: optional(row["attempt_max"], Number),
    nextAttemptAt: optional(row["next_attempt_at"], date),
    errorCode: optional(row["final_error_code"], String),
    generation: Number(row["generation"]),
    requeuedFrom: optional(row["requeued_from"], String),
    createdAt: date(row["created_at"]),
    updatedAt: date(row["updated_at"]),
  };
}

export function toAttempt(row: Row): Attempt {
  return {
    id: String(row["id"]),
    deliveryId: String(row["saga_id"]),
    jobId: String(row["job_id"]),
    verdict: row["verdict"] as Verdict,
    ok: Number(row["ok"]) === 1,
    code: row["code"] as string,
    url: optional(row["url"], String),
    sentAt: optional(row["sent_at"], date),
    status: optional(row["status"], Number),
    durationMs: Number(row["duration_ms"]),
    responseHeaders: optional(
      row["response_headers"],
      (text) => JSON.parse(text as string) as Record<string, string>,
    ),
    responseBody: optional(row["response_body"], String),
    createdAt: date(row["created_at"]),
  };
}
