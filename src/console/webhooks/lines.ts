/** Webhooks as the console shows them: payloads and responses are masked, addresses without what may be secret. */
import type { Attempt as Tried, Delivery } from "../../webhooks/delivery-queries.ts";
import type { Subscription as Subscribed } from "../../webhooks/subscriptions/view.ts";
import { disabledActions } from "../../webhooks/helping-actions.ts";
import { GONE, type SubscriptionBrief as Brief } from "../../webhooks/read/subscription-brief.ts";
import { shownUrl } from "../../webhooks/shown-url.ts";
import type { Json } from "../contract.ts";
import type { Attempt, DeliveryLine, Subscription, SubscriptionBrief } from "../contract-parts.ts";
import { mask } from "../http/mask.ts";

const ACTIONS: Readonly<Record<Exclude<Subscribed["status"], "Disabled">, Subscription["actions"]>> = {
  Active: ["pause", "unsubscribe", "resend"],
  Paused: ["enable", "unsubscribe", "resend"],
  Deleted: [],
};

function actionsOf({ status, reason }: Subscribed): Subscription["actions"] {
  return status === "Disabled" ? disabledActions({ gone: reason === GONE }) : ACTIONS[status];
}

export function toBrief({ id, name, status, gone }: Brief): SubscriptionBrief {
  return { id, name, status, gone };
}

export function toSubscriptionLine(given: Subscribed): Subscription {
  return {
    id: given.id,
    url: shownUrl(given.url),
    description: given.description ?? null,
    status: given.status,
    reason: given.reason ?? null,
    events: given.events,
    attempts: given.attempts ?? null,
    concurrency: given.concurrency,
    ordered: given.ordered,
    liveSecrets: given.liveSecrets,
    failingSince: given.failingSince?.toISOString() ?? null,
    failures: given.failures,
    createdAt: given.createdAt.toISOString(),
    updatedAt: given.updatedAt.toISOString(),
    actions: actionsOf(given),
  };
}

export function toDeliveryLine(given: Delivery, subscription: Brief): DeliveryLine {
  return {
    id: given.id,
    eventId: given.eventId,
    eventType: given.eventType,
    subscriptionId: given.subscriptionId,
    subscription: toBrief(subscription),
    url: subscription.url,
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
