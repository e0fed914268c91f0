/** Reads of deliveries and attempts for operators. Only the orchestrator changes states. */
import { checkSerial } from "../core/delivery/serial.ts";
import type { DeliveryStatus } from "../core/delivery/machine.ts";
import type { Verdict } from "../core/delivery/job.ts";
import type { Dialect, Row } from "../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../storage/sql.ts";

/** The delivery of one event to one subscription. */
export interface Delivery {
  /** The id of the delivery. */
  readonly id: string;
  /** The id of the event, as it was published. */
  readonly eventId: string;
  /** The type of the event. */
  readonly eventType: string;
  /** The id of the subscription. */
  readonly subscriptionId: string;
  /** The status of the delivery. */
  readonly status: DeliveryStatus;
  /** The number of attempts that have ended. */
  readonly attemptCount: number;
  /** The largest number of attempts, as of the last decision; undefined before the first. */
  readonly attemptMax: number | undefined;
  /** When the next attempt is due; undefined if none is. */
  readonly nextAttemptAt: Date | undefined;
  /** The error code of the last failed attempt; undefined if there is none, and after a success. */
  readonly errorCode: string | undefined;
  /** 0 for the first delivery of the event to the subscription, and one more for each resend. */
  readonly generation: number;
  /** The id of the dead-lettered delivery that it replaces; undefined if there is none. */
  readonly requeuedFrom: string | undefined;
  /** When the delivery was created. */
  readonly createdAt: Date;
  /** When the delivery last changed. */
  readonly updatedAt: Date;
}

/** One attempt of a delivery: what was sent where, and the response. */
export interface Attempt {
  /** The id of the attempt. */
  readonly id: string;
  /** The id of the delivery. */
  readonly deliveryId: string;
  /** The id of the job that made the attempt. */
  readonly jobId: string;
  /**
   * `accepted` if the result was applied. Any other result was recorded without effect, because it was repeated, late
   * or from a lost claim.
   */
  readonly verdict: Verdict;
  /** True if the receiver answered with a 2xx status. */
  readonly ok: boolean;
  /** `http_<status>`, or an error code. The webhooks guide lists them. */
  readonly code: string;
  /** The URL that was called; undefined if there was none. */
  readonly url: string | undefined;
  /** When the request was sent; undefined if nothing was sent. */
  readonly sentAt: Date | undefined;
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** How long the attempt took, in milliseconds. */
  readonly durationMs: number;
  /** A few response headers, such as `content-type` and `retry-after`; undefined if there was no response. */
  readonly responseHeaders: Readonly<Record<string, string>> | undefined;
  /** The response body as text, cut off at 16 KiB; undefined if there was no response. */
  readonly responseBody: string | undefined;
  /** When the attempt was recorded. */
  readonly createdAt: Date;
}

/** Which deliveries are listed. Conditions are combined with AND. */
export interface DeliveryFilter {
  /** Only deliveries to this subscription, by either of its ids. */
  readonly subscriptionId?: string;
  /** Only deliveries of this event. */
  readonly eventId?: string;
  /** Only deliveries with this status. */
  readonly status?: DeliveryStatus;
  /** The size of a page, 1 to 1000 deliveries. Default: 100. */
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
  // Starts at the lowest id, so that both planners use a range scan of the key.
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
