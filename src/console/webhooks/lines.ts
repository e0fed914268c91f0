/** Webhooks as the console shows them: payloads and responses are masked, addresses without what may be secret. */
import type { Attempt as Tried, Delivery } from "../../webhooks/delivery-queries.ts";
import type { Subscription as Subscribed } from "../../webhooks/subscriptions/rows.ts";
import type { Row } from "../../storage/database.ts";
import type { Json } from "../contract.ts";
import type { Attempt, DeliveryLine, Subscription, SubscriptionBrief } from "../contract-parts.ts";
import { mask } from "../http/mask.ts";

const ACTIONS: Readonly<Record<Subscribed["status"], Subscription["actions"]>> = {
  Active: ["pause", "delete", "resend"],
  Paused: ["enable", "delete", "resend"],
  Disabled: ["enable", "delete"],
  Deleted: [],
};

/** The first action is the one that helps: an endpoint that answered 410 does not come back. */
export const GONE_ACTIONS: Subscription["actions"] = ["delete", "enable"];

/** What follows the path of an address may be a secret. */
export function safeUrl(url: string): string {
  if (!URL.canParse(url)) return "unreadable";
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** The reason that a subscription has after its endpoint answered 410. */
const GONE = "gone";

export function toBrief(row: Row): SubscriptionBrief {
  const status = row["status"] as SubscriptionBrief["status"];
  return {
    id: String(row["id"]),
    name: (row["description"] as string | null) ?? safeUrl(row["url"] as string),
    status,
    gone: status === "Disabled" && row["reason"] === GONE,
  };
}

/** What a delivery shows of a subscription that retention has removed. */
export function unknownBrief(id: string): SubscriptionBrief {
  return { id, name: `subscription ${id}`, status: "Deleted", gone: false };
}

export function toSubscriptionLine(given: Subscribed): Subscription {
  return {
    id: given.id,
    url: safeUrl(given.url),
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
    actions: given.status === "Disabled" && given.reason === GONE ? GONE_ACTIONS : ACTIONS[given.status],
  };
}

export function toDeliveryLine(given: Delivery, subscription: SubscriptionBrief, url: string): DeliveryLine {
  return {
    id: given.id,
    eventId: given.eventId,
    eventType: given.eventType,
    subscriptionId: given.subscriptionId,
    subscription,
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
