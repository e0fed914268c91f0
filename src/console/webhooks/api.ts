/** Webhooks: subscriptions, deliveries and their attempts, and what a person may do about them. */
import { cursor } from "../../core/cursor.ts";
import { deliveryMachine, subscriptionMachine } from "../../core/delivery/machine.ts";
import { isSerial } from "../../core/delivery/serial.ts";
import type { Delivery } from "../../webhooks/delivery-queries.ts";
import { listDeliveryPage, readAftermath, readResponse } from "../../webhooks/read/list.ts";
import { readBriefs, type SubscriptionBrief } from "../../webhooks/read/subscription-brief.ts";
import { deliveryActions } from "../../webhooks/helping-actions.ts";
import { shownUrl } from "../../webhooks/shown-url.ts";
import type { Revealers } from "../audit/api.ts";
import { noteOf, recorded, type ConsoleContext } from "../context.ts";
import type { DeliveryDetail, DeliveryLine, Resent, Subscription, Unsubscribed } from "../contract-parts.ts";
import type { Json, Page } from "../contract.ts";
import { badInput, notFound, Refused } from "../http/answer.ts";
import { mask } from "../http/mask.ts";
import { after, toPage } from "../http/page.ts";
import { bool, instant, limit, needed, oneOf, reason, someOf, text, type Param } from "../http/param.ts";
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
      summary: "Pauses the subscription: its deliveries wait until it is enabled.",
      handle: async (call) => toSubscriptionLine(await webhooks.pause(checkSerial(call.id), noteOf(call))),
    }),
    route({
      ...shared,
      path: `${path}/{id}/enable`,
      summary: "Sending goes on.",
      handle: async (call) => toSubscriptionLine(await webhooks.enable(checkSerial(call.id), noteOf(call))),
    }),
    route({
      ...shared,
      path: `${path}/{id}/unsubscribe`,
      answers: "Unsubscribed",
      summary: "Deletes the subscription, and dismisses its open dead letters.",
      handle: async (call): Promise<Unsubscribed> => {
        const id = checkSerial(call.id);
        const note = noteOf(call);
        const ended = await webhooks.unsubscribe(id, note);
        return { ...toSubscriptionLine(ended), dismissed: await dismissAll(context, id, note) };
      },
    }),
    route({
      ...shared,
      path: `${path}/{id}/resend`,
      answers: "Resent",
      summary: "Everything that it wants of what was published since an instant, once more.",
      body: { reason: reason(), since: needed(instant()) },
      handle: async (call): Promise<Resent> => {
        const since = new Date(call.body.since);
        const deliveries = await webhooks.resendSince(checkSerial(call.id), { since }, noteOf(call));
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
        const briefOf = await briefsOf(context, found.items);
        return toPage(found, (one) => toDeliveryLine(one, briefOf(one)));
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
      summary: "Sends a delivery that has ended again, as a new one: answers with the new one.",
      body: { reason: reason(), enable: bool() },
      handle: async (call) => {
        const id = checkSerial(call.id);
        const note = noteOf(call);
        const { refusal, enables } = await beforeResend(context, id, call.body.enable);
        // What the library carries out is on record by itself. What is refused here is put on record here.
        if (refusal) await recorded(context, call, "resend", "delivery", () => Promise.reject(refusal));
        if (enables !== undefined) await webhooks.enable(enables, note);
        return detailOf(context, await webhooks.resend(id, note));
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
            const message = "The delivery has no open dead letter.";
            throw new Refused(409, { code: "NOT_ALLOWED_NOW", message });
          }
          await webhooks.dismiss(id, note);
        });
        return detailOf(context, call.id);
      },
    }),
  ];
}

const LETTERS_PAGE = 500;

/** A deleted subscription receives nothing, so its dead letters cannot be resent. */
async function dismissAll(
  { webhooks }: ConsoleContext,
  subscriptionId: string,
  note: { readonly reason: string; readonly by: string },
): Promise<number> {
  let count = 0;
  for (;;) {
    const letters = await webhooks.deadLetters({ subscriptionId, limit: LETTERS_PAGE });
    for (const { deliveryId } of letters) await webhooks.dismiss(deliveryId, note);
    count += letters.length;
    if (letters.length < LETTERS_PAGE) return count;
  }
}

/** A delivery to a disabled or deleted subscription becomes a dead letter at once, so the resend is refused first. */
async function beforeResend(
  { webhooks }: ConsoleContext,
  id: string,
  enable: boolean | undefined,
): Promise<{ readonly refusal?: Refused; readonly enables?: string }> {
  const delivery = await webhooks.delivery(id);
  // A resend of an unknown delivery is refused by the library.
  if (!delivery) return {};
  const { subscriptionId } = delivery;
  const { status, description, url, reason: why } = await webhooks.subscription(subscriptionId);
  const name = description ?? shownUrl(url);
  if (status === "Deleted") {
    const message = `The subscription ${name} was deleted: nothing can be sent to it. Dismiss the dead letter.`;
    return { refusal: new Refused(409, { code: "SUBSCRIPTION_DELETED", message }) };
  }
  if (status !== "Disabled") return {};
  if (enable === true) return { enables: subscriptionId };
  const message = `The subscription ${name} is disabled (${why ?? "unknown reason"}): the delivery would fail at once. Enable subscription ${subscriptionId} first, or send \`enable: true\`.`;
  return { refusal: new Refused(409, { code: "SUBSCRIPTION_DISABLED", message }) };
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

async function deliveryOf({ webhooks }: ConsoleContext, id: string): Promise<Delivery> {
  const delivery = await webhooks.delivery(checkSerial(id));
  if (!delivery) throw notFound("delivery with this id");
  return delivery;
}

async function payloadOf({ webhooks }: ConsoleContext, { eventId }: Delivery): Promise<Json> {
  const event = await webhooks.event(eventId);
  return event ? parsedPayload(event.payload) : null;
}

/** The deliveries' subscriptions, by id. */
async function briefsOf(
  { reader }: ConsoleContext,
  deliveries: readonly Delivery[],
): Promise<(delivery: Delivery) => SubscriptionBrief> {
  const briefs = await readBriefs(
    reader,
    deliveries.map(({ subscriptionId }) => subscriptionId),
  );
  return ({ subscriptionId }) => briefs.get(subscriptionId) as SubscriptionBrief;
}

async function detailOf(context: ConsoleContext, id: string): Promise<DeliveryDetail> {
  const { reader, webhooks } = context;
  const delivery = await deliveryOf(context, id);
  const subscription = (await briefsOf(context, [delivery]))(delivery);
  const attempts = await webhooks.attempts(delivery.id);
  const { deadLetter, resentAs } = await readAftermath(reader, delivery.id);
  const hasEnded = deliveryMachine.isTerminal(delivery.status);
  return {
    ...toDeliveryLine(delivery, subscription),
    payload: mask(await payloadOf(context, delivery)),
    requeuedFrom: delivery.requeuedFrom ?? null,
    requeuedAs: resentAs ?? null,
    deadLetter: deadLetter ?? null,
    actions: hasEnded ? deliveryActions(subscription, deadLetter === "Open") : [],
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
