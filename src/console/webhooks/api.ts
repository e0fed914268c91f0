/** Webhooks: subscriptions, deliveries and their attempts, and what a person may do about them. */
import { deliveryMachine, subscriptionMachine, type DeadLetterStatus } from "../../core/delivery/machine.ts";
import { toDelivery, type Delivery } from "../../webhooks/delivery-queries.ts";
import { badInput, notFound, Refused } from "../http/answer.ts";

import type { Revealers } from "../audit/api.ts";
import type { Json, Page } from "../contract.ts";
import type { DeliveryDetail, DeliveryLine, Resent, Subscription } from "../contract-parts.ts";
import { mask } from "../http/mask.ts";
import { recorded, type ConsoleContext } from "../context.ts";
import { instant, limit, needed, oneOf, reason, someOf, text, type Param } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { parsedPayload, safeUrl, toAttemptLine, toDeliveryLine, toSubscriptionLine } from "./lines.ts";
import {
  DELIVERY_SCAN_MAX,
  listDeliveryLines,
  selectLetter,
  selectRequeued,
  selectResponse,
  selectUrls,
  type DeliveryQuestion,
} from "./queries.ts";

/** So many subscriptions are looked through at once. */
const SUBSCRIPTION_SCAN_MAX = 1_000;
const SERIAL = /^[1-9]\d{0,17}$/;

/** The id of the last row of the page before. */
function serialCursor(): Param<string | undefined> {
  const bounded = text(20);
  return {
    schema: { type: "string" },
    required: false,
    read: (value, field) => {
      const given = bounded.read(value, field);
      if (given !== undefined && !SERIAL.test(given)) throw badInput(field, "must be an id");
      return given;
    },
  };
}

export function webhookRoutes(context: ConsoleContext): readonly Route[] {
  return [...subscriptionRoutes(context), ...deliveryRoutes(context)];
}

function subscriptionRoutes(context: ConsoleContext): readonly Route[] {
  const { webhooks } = context;
  const shared = {
    method: "POST",
    access: "operate",
    answers: "Subscription",
    body: { reason: reason() },
  } as const;
  const path = "/api/webhooks/subscriptions";
  return [
    route({
      method: "GET",
      path,
      access: "read",
      summary: "Subscriptions to webhooks, newest first.",
      answers: "Page<Subscription>",
      query: {
        q: text(255),
        status: oneOf(subscriptionMachine.states),
        limit: limit(),
        after: serialCursor(),
      },
      handle: async ({ query }): Promise<Page<Subscription>> => {
        const { q, status, limit: max, after } = query;
        const looked = q === undefined ? max + 1 : SUBSCRIPTION_SCAN_MAX;
        const found = await webhooks.subscriptions({ limit: looked, status, after, order: "newest" });
        const fits = found.map(toSubscriptionLine).filter((line) => q === undefined || isLike(line, q));
        const items = fits.slice(0, max);
        // There is more to look through: the next page goes on where this one stopped looking.
        const edge = fits.length > max ? items.at(-1) : found.length === looked ? found.at(-1) : undefined;
        return { items, next: edge?.id ?? null };
      },
    }),
    route({
      method: "GET",
      path: `${path}/{id}`,
      access: "read",
      summary: "One subscription.",
      answers: "Subscription",
      handle: async ({ id }) => toSubscriptionLine(await webhooks.subscription(checkSerial(id))),
    }),
    route({
      ...shared,
      path: `${path}/{id}/pause`,
      summary: "Nothing is sent until it is enabled; what it is owed waits.",
      handle: async (call) =>
        toSubscriptionLine(
          await recorded(context, call, "pause", "subscription", (note) =>
            webhooks.pause(checkSerial(call.id), note),
          ),
        ),
    }),
    route({
      ...shared,
      path: `${path}/{id}/enable`,
      summary: "Sending goes on.",
      handle: async (call) =>
        toSubscriptionLine(
          await recorded(context, call, "enable", "subscription", () =>
            webhooks.enable(checkSerial(call.id)),
          ),
        ),
    }),
    route({
      ...shared,
      path: `${path}/{id}/delete`,
      summary: "Ends the subscription for good.",
      handle: async (call) =>
        toSubscriptionLine(
          await recorded(context, call, "delete", "subscription", (note) =>
            webhooks.unsubscribe(checkSerial(call.id), note),
          ),
        ),
    }),
    route({
      ...shared,
      path: `${path}/{id}/resend`,
      answers: "Resent",
      summary: "Everything that it wants of what was published since an instant, once more.",
      body: { reason: reason(), since: needed(instant()) },
      handle: async (call): Promise<Resent> => {
        const since = new Date(call.body.since);
        const deliveries = await recorded(context, call, "resend", "subscription", (note) =>
          webhooks.resendSince(checkSerial(call.id), { since }, note),
        );
        return { deliveries };
      },
    }),
  ];
}

function deliveryRoutes(context: ConsoleContext): readonly Route[] {
  const { webhooks } = context;
  const shared = {
    method: "POST",
    access: "operate",
    answers: "DeliveryDetail",
    body: { reason: reason() },
  } as const;
  const path = "/api/webhooks/deliveries";
  return [
    route({
      method: "GET",
      path,
      access: "read",
      summary: "Deliveries, newest first.",
      answers: "Page<DeliveryLine>",
      query: {
        subscription: serialCursor(),
        status: someOf(deliveryMachine.states),
        event: text(255),
        limit: limit(),
        after: serialCursor(),
      },
      handle: async ({ query }): Promise<Page<DeliveryLine>> => {
        const { subscription: subscriptionId, status: statuses, event: eventId, after } = query;
        return pageOf(context, { subscriptionId, statuses, eventId, after }, query.limit);
      },
    }),
    route({
      method: "GET",
      path: `${path}/{id}`,
      access: "read",
      summary: "One delivery with everything that was tried.",
      answers: "DeliveryDetail",
      handle: async ({ id }) => detailOf(context, id),
    }),
    route({
      ...shared,
      path: `${path}/{id}/resend`,
      summary: "A delivery that has ended, once more: answers with the new one.",
      handle: async (call) => {
        const made = await recorded(context, call, "resend", "delivery", (note) =>
          webhooks.resend(checkSerial(call.id), note),
        );
        return detailOf(context, made);
      },
    }),
    route({
      ...shared,
      path: `${path}/{id}/dismiss`,
      summary: "Settles a dead letter without sending anything.",
      handle: async (call) => {
        await recorded(context, call, "dismiss", "delivery", async (note) => {
          const letter = await letterOf(context, await deliveryOf(context, call.id));
          if (letter?.status !== "Open") {
            throw new Refused(409, { code: "NOT_ALLOWED_NOW", message: "It is no open dead letter." });
          }
          await webhooks.dismiss(letter.id, note);
        });
        return detailOf(context, call.id);
      },
    }),
  ];
}

export function webhookRevealers(context: ConsoleContext): Revealers {
  return {
    delivery: async (id) => ({
      fields: { payload: await payloadOf(context, await deliveryOf(context, id)) },
    }),
    attempt: async (id) => {
      const [row] = await context.query(selectResponse(context.db.dialect, checkSerial(id)));
      if (!row) throw notFound("attempt with this id");
      return { fields: { response: (row["response_body"] as string | null) ?? null } };
    },
  };
}

async function deliveryOf({ webhooks }: ConsoleContext, id: string): Promise<Delivery> {
  const delivery = await webhooks.delivery(checkSerial(id));
  if (!delivery) throw notFound("delivery with this id");
  return delivery;
}

async function payloadOf({ webhooks }: ConsoleContext, { eventId }: Delivery): Promise<Json> {
  const event = await webhooks.event(eventId);
  return event ? parsedPayload(event.payload) : null;
}

/** What became of a dead delivery. */
interface Letter {
  readonly id: string;
  readonly status: DeadLetterStatus;
}

async function letterOf(
  { db, query }: ConsoleContext,
  { id, status }: Delivery,
): Promise<Letter | undefined> {
  if (status !== "DeadLettered") return undefined;
  const [row] = await query(selectLetter(db.dialect, id));
  return row && { id: String(row["id"]), status: row["status"] as DeadLetterStatus };
}

async function pageOf(
  context: ConsoleContext,
  filter: DeliveryQuestion,
  max: number,
): Promise<Page<DeliveryLine>> {
  const { db, query } = context;
  const rows = await query(listDeliveryLines(db.dialect, filter, max + 1));
  const edge = rows.find((row) => Number(row["edge"]) === 1);
  const hits = rows.filter((row) => row !== edge);
  const shown = hits.slice(0, max).map(toDelivery);
  const urls = await urlsOf(context, shown);
  const isCut = edge !== undefined && Number(edge["looked"]) >= DELIVERY_SCAN_MAX;
  const next = hits.length > max ? shown.at(-1)?.id : isCut ? String(edge["id"]) : undefined;
  return {
    items: shown.map((one) => toDeliveryLine(one, urls.get(one.subscriptionId) ?? "")),
    next: next ?? null,
  };
}

/** Where the subscriptions of deliveries lead, without what may be a secret. */
export async function urlsOf(
  { db, query }: ConsoleContext,
  deliveries: readonly Pick<Delivery, "subscriptionId">[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(deliveries.map(({ subscriptionId }) => subscriptionId))];
  const rows = ids.length === 0 ? [] : await query(selectUrls(db.dialect, ids));
  return new Map(rows.map((row) => [String(row["id"]), safeUrl(row["url"] as string)]));
}

async function detailOf(context: ConsoleContext, id: string): Promise<DeliveryDetail> {
  const { db, query, webhooks } = context;
  const delivery = await deliveryOf(context, id);
  const urls = await urlsOf(context, [delivery]);
  const attempts = await webhooks.attempts(delivery.id);
  const letter = await letterOf(context, delivery);
  const [again] = await query(selectRequeued(db.dialect, delivery.id));
  const hasEnded = deliveryMachine.isTerminal(delivery.status);
  return {
    ...toDeliveryLine(delivery, urls.get(delivery.subscriptionId) ?? ""),
    payload: mask(await payloadOf(context, delivery)),
    requeuedFrom: delivery.requeuedFrom ?? null,
    requeuedAs: again ? String(again["id"]) : null,
    deadLetter: letter?.status ?? null,
    actions: !hasEnded ? [] : letter?.status === "Open" ? ["resend", "dismiss"] : ["resend"],
    attempts: attempts.map(toAttemptLine),
  };
}

/** What is searched is what is shown: of an address no more than that. */
function isLike({ url, description, events }: Subscription, q: string): boolean {
  const word = q.trim().toLowerCase();
  return [url, description ?? "", ...events].some((shown) => shown.toLowerCase().includes(word));
}

function checkSerial(id: string): string {
  if (!SERIAL.test(id)) throw notFound("webhook with this id");
  return id;
}
