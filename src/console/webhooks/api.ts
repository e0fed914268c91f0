/** Webhooks: subscriptions, deliveries and their attempts, and what a person may do about them. */
import { cursor } from "../../core/cursor.ts";
import { deliveryMachine, subscriptionMachine } from "../../core/delivery/machine.ts";
import { isSerial } from "../../core/delivery/serial.ts";
import type { Delivery } from "../../webhooks/delivery-queries.ts";
import { listDeliveryPage, readAftermath, readResponse, subscriptionUrls } from "../../webhooks/read/list.ts";
import { shownUrl } from "../../webhooks/shown-url.ts";
import type { Revealers } from "../audit/api.ts";
import { recorded, type ConsoleContext } from "../context.ts";
import type { DeliveryDetail, DeliveryLine, Resent, Subscription } from "../contract-parts.ts";
import type { Json, Page } from "../contract.ts";
import { badInput, notFound, Refused } from "../http/answer.ts";
import { mask } from "../http/mask.ts";
import { after, toPage } from "../http/page.ts";
import { instant, limit, needed, oneOf, reason, someOf, text, type Param } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { parsedPayload, toAttemptLine, toDeliveryLine, toSubscriptionLine } from "./lines.ts";

/** A search looks through this many subscriptions at once. */
const SUBSCRIPTION_SCAN_MAX = 1_000;

/** The id of the last subscription. */
const PLACE = cursor<[string]>(isSerial);

/** The id of a subscription, as a filter. */
function serial(): Param<string | undefined> {
  const bounded = text(20);
  return {
    ...bounded,
    read: (value, field) => {
      const given = bounded.read(value, field);
      if (given !== undefined && !isSerial(given)) throw badInput(field, "must be an id");
      return given;
    },
  };
}

export function webhookRoutes(context: ConsoleContext): readonly Route[] {
  return [...subscriptionRoutes(context), ...deliveryRoutes(context)];
}

function subscriptionRoutes(context: ConsoleContext): readonly Route[] {
  const { webhooks } = context.amends;
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
        after: after(),
      },
      handle: async ({ query }): Promise<Page<Subscription>> => {
        const { q, status, limit: max } = query;
        const [place] = PLACE.decode(query.after) ?? [];
        const looked = q === undefined ? max + 1 : SUBSCRIPTION_SCAN_MAX;
        const found = await webhooks.subscriptions({ limit: looked, status, after: place, order: "newest" });
        const fits = found.map(toSubscriptionLine).filter((line) => q === undefined || isLike(line, q));
        const items = fits.slice(0, max);
        // There is more to look through: the next page goes on where this one stopped looking.
        const edge = fits.length > max ? items.at(-1) : found.length === looked ? found.at(-1) : undefined;
        return { items, next: edge ? PLACE.encode(edge.id) : null };
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
      path: `${path}/{id}/unsubscribe`,
      summary: "Ends the subscription for good.",
      handle: async (call) =>
        toSubscriptionLine(
          await recorded(context, call, "unsubscribe", "subscription", (note) =>
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
  const { webhooks } = context.amends;
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
        subscription: serial(),
        status: someOf(deliveryMachine.states),
        event: text(255),
        limit: limit(),
        after: after(),
      },
      handle: async ({ query }): Promise<Page<DeliveryLine>> => {
        const { subscription: subscriptionId, status: statuses, event: eventId, limit: max } = query;
        const filter = { subscriptionId, statuses, eventId, limit: max, after: query.after };
        const found = await listDeliveryPage(context.reader, filter);
        const urls = await urlsOf(context, found.items);
        return toPage(found, (one) => toDeliveryLine(one, urls.get(one.subscriptionId) ?? ""));
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
          const { id } = await deliveryOf(context, call.id);
          const { deadLetter } = await readAftermath(context.reader, id);
          if (deadLetter !== "Open") {
            const message = "Only a delivery with an open dead letter can be dismissed.";
            throw new Refused(409, { code: "NOT_ALLOWED_NOW", message });
          }
          await webhooks.dismiss(id, note);
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
      const response = await readResponse(context.reader, checkSerial(id));
      if (!response) throw notFound("attempt with this id");
      return { fields: { response: response.body ?? null } };
    },
  };
}

async function deliveryOf({ amends }: ConsoleContext, id: string): Promise<Delivery> {
  const delivery = await amends.webhooks.delivery(checkSerial(id));
  if (!delivery) throw notFound("delivery with this id");
  return delivery;
}

async function payloadOf({ amends }: ConsoleContext, { eventId }: Delivery): Promise<Json> {
  const event = await amends.webhooks.event(eventId);
  return event ? parsedPayload(event.payload) : null;
}

/** Where the subscriptions of deliveries lead, without what may be a secret. */
async function urlsOf(
  { reader }: ConsoleContext,
  deliveries: readonly Delivery[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(deliveries.map(({ subscriptionId }) => subscriptionId))];
  const urls = await subscriptionUrls(reader, ids);
  return new Map([...urls].map(([id, url]) => [id, shownUrl(url)]));
}

async function detailOf(context: ConsoleContext, id: string): Promise<DeliveryDetail> {
  const { amends, reader } = context;
  const delivery = await deliveryOf(context, id);
  const urls = await urlsOf(context, [delivery]);
  const attempts = await amends.webhooks.attempts(delivery.id);
  const { deadLetter, resentAs } = await readAftermath(reader, delivery.id);
  const hasEnded = deliveryMachine.isTerminal(delivery.status);
  return {
    ...toDeliveryLine(delivery, urls.get(delivery.subscriptionId) ?? ""),
    payload: mask(await payloadOf(context, delivery)),
    requeuedFrom: delivery.requeuedFrom ?? null,
    requeuedAs: resentAs ?? null,
    deadLetter: deadLetter ?? null,
    actions: !hasEnded ? [] : deadLetter === "Open" ? ["resend", "dismiss"] : ["resend"],
    attempts: attempts.map(toAttemptLine),
  };
}

/** What is searched is what is shown: of an address no more than that. */
function isLike({ url, description, events }: Subscription, q: string): boolean {
  const word = q.trim().toLowerCase();
  return [url, description ?? "", ...events].some((shown) => shown.toLowerCase().includes(word));
}

function checkSerial(id: string): string {
  if (!isSerial(id)) throw notFound("webhook with this id");
  return id;
}
