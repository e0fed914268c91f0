/** Webhooks as the console shows them: payloads and responses are masked, addresses without what may be secret. */
import type { Attempt as Tried, Delivery } from "../../webhooks/delivery-queries.ts";
import type { Subscription as Subscribed } from "../../webhooks/subscriptions/rows.ts";
import { shownUrl } from "../../webhooks/shown-url.ts";
import type { Json } from "../contract.ts";
import type { Attempt, DeliveryLine, Subscription } from "../contract-parts.ts";
import { mask } from "../http/mask.ts";

const ACTIONS: Readonly<Record<Subscribed["status"], Subscription["actions"]>> = {
  Active: ["pause", "unsubscribe", "resend"],
  Paused: ["enable", "unsubscribe", "resend"],
  Disabled: ["enable", "unsubscribe"],
  Deleted: [],
};

export function toSubscriptionLine(given: Subscribed): Subscription {
  return {
    id: given.id,
    url: shownUrl(given.url),
    description: given.description ?? null,
    status: given.status,
    reason: given.reason ?? null,
    events: given.events,
    maxAttempts: given.maxAttempts ?? null,
    concurrency: given.concurrency,
    ordered: given.ordered,
    liveSecrets: given.liveSecrets,
    failingSince: given.failingSince?.toISOString() ?? null,
    failures: given.failures,
    createdAt: given.createdAt.toISOString(),
    updatedAt: given.updatedAt.toISOString(),
    actions: ACTIONS[given.status],
  };
}

export function toDeliveryLine(given: Delivery, url: string): DeliveryLine {
  return {
    id: given.id,
    eventId: given.eventId,
    eventType: given.eventType,
    subscriptionId: given.subscriptionId,
    url,
    status: given.status,
    attemptCount: given.attemptCount,
    nextAttemptAt: given.nextAttemptAt?.toISOString() ?? null,
    errorCode: given.errorCode ?? null,
    generation: given.generation,
    createdAt: given.createdAt.toISOString(),
    updatedAt: given.updatedAt.toISOString(),
  };
}

export function toAttemptLine(given: Tried): Attempt {
  return {
    id: given.id,
    at: (given.sentAt ?? given.createdAt).toISOString(),
    ok: given.ok,
    verdict: given.verdict,
    code: given.code,
    httpStatus: given.status ?? null,
    durationMs: given.durationMs,
    response: given.responseBody === undefined ? null : mask(given.responseBody),
  };
}

/** A payload is whatever was published: JSON, mostly. */
export function parsedPayload(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
