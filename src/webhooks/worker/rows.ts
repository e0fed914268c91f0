/** The only place that sees what the drivers return of what is to be sent. */
import type { SubscriptionStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";

/** A signing secret as it is stored: sealed where there is a key, and with an end where a newer one has replaced it. */
export interface StoredSecret {
  readonly text: string;
  readonly untilMs?: number;
}

export interface Target {
  readonly status: SubscriptionStatus;
  readonly url: string;
  readonly secrets: readonly StoredSecret[];
  readonly timeoutMs: number | undefined;
  readonly attemptMax: number | undefined;
  readonly nowMs: number;
}

export function toTarget(row: Row): Target {
  return {
    status: row["status"] as SubscriptionStatus,
    url: row["url"] as string,
    secrets: JSON.parse(row["secrets"] as string) as StoredSecret[],
    timeoutMs: row["timeout_ms"] === null ? undefined : Number(row["timeout_ms"]),
    attemptMax: row["attempt_max"] === null ? undefined : Number(row["attempt_max"]),
    nowMs: Number(row["now_at"]),
  };
}

export interface Message {
  readonly key: string;
  readonly type: string;
  /** The bytes that are sent, to however many subscriptions. */
  readonly body: Buffer;
  readonly traceparent: string | undefined;
}

export function toMessage(row: Row): Message {
  return {
    key: row["event_key"] as string,
    type: row["type"] as string,
    body: Buffer.from(row["payload"] as string, "utf8"),
    traceparent: (row["traceparent"] as string | null) ?? undefined,
  };
}
