/** Webhooks: subscriptions, deliveries and their attempts, and what a person may do about them. */
import { deliveryMachine, subscriptionMachine } from "../core/delivery/machine.ts";
import type { Delivery } from "../webhooks/delivery-queries.ts";
import { badInput, notFound, Refused } from "./answer.ts";
import type { Revealers } from "./audit-api.ts";
import type { Json, Page } from "./contract.ts";
import type { DeliveryDetail, DeliveryLine, Resent, Subscription } from "./contract-parts.ts";
import { mask } from "./mask.ts";
import { whoOf, type Office } from "./office.ts";
import { instant, limit, needed, oneOf, reason, text, type Param } from "./param.ts";
import { route, type Call, type Route } from "./route.ts";
import { parsedPayload, toAttemptLine, toDeliveryLine, toSubscriptionLine } from "./webhook-lines.ts";

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

export function webhookRoutes(office: Office): readonly Route[] {
  return [...subscriptionRoutes(office), ...deliveryRoutes(office)];
}

type Noted = Call<unknown, { readonly reason: string }>;

/** On record before it is done. */
async function recorded<T>(
  { actions }: Office,
  call: Noted,
  action: string,
  kind: string,
  work: (note: { readonly reason: string; readonly by: string }) => Promise<T>,
): Promise<T> {
  const { name: by } = whoOf(call);
  const { reason: why } = call.body;
  return actions.around({ by, action, target: { kind, id: call.id }, reason: why }, () =>
    work({ reason: why, by }),
  );
}

function subscriptionRoutes(office: Office): readonly Route[] {
  const { webhooks } = office.amends;
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
      summary: "Subscriptions to webhooks.",
      answers: "Page<Subscription>",
      query: {
        q: text(255),
        status: oneOf(subscriptionMachine.states),
        limit: limit(),
        after: serialCursor(),
      },
      handle: async ({ query }): Promise<Page<Subscription>> => {
        const { q, status, limit: max, after } = query;
        const found = await webhooks.subscriptions({
          limit: max,
          ...(status !== undefined && { status }),
          ...(after !== undefined && { after }),
        });
        const lines = found.map(toSubscriptionLine);
        const fits = q === undefined ? lines : lines.filter((line) => JSON.stringify(line).includes(q));
        return { items: fits, next: found.length === max ? (found.at(-1)?.id ?? null) : null };
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
          await recorded(office, call, "pause", "subscription", (note) =>
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
          await recorded(office, call, "enable", "subscription", () => webhooks.enable(checkSerial(call.id))),
        ),
    }),
    route({
      ...shared,
      path: `${path}/{id}/delete`,
      summary: "Ends the subscription for good.",
      handle: async (call) =>
        toSubscriptionLine(
          await recorded(office, call, "delete", "subscription", (note) =>
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
        const deliveries = await recorded(office, call, "resend", "subscription", (note) =>
          webhooks.resendSince(checkSerial(call.id), { since }, note),
        );
        return { deliveries };
      },
    }),
  ];
}

function deliveryRoutes(office: Office): readonly Route[] {
  const { webhooks } = office.amends;
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
        status: oneOf(deliveryMachine.states),
        event: text(255),
        limit: limit(),
        after: serialCursor(),
      },
      handle: async ({ query }): Promise<Page<DeliveryLine>> => {
        const { subscription, status, event, limit: max, after } = query;
        const found = await webhooks.deliveries({
          limit: max,
          ...(subscription !== undefined && { subscriptionId: subscription }),
          ...(status !== undefined && { status }),
          ...(event !== undefined && { eventId: event }),
          ...(after !== undefined && { after }),
        });
        const urls = await urlsOf(office, found);
        return {
          items: found.map((one) => toDeliveryLine(one, urls.get(one.subscriptionId) ?? "")),
          next: found.length === max ? (found.at(-1)?.id ?? null) : null,
        };
      },
    }),
    route({
      method: "GET",
      path: `${path}/{id}`,
      access: "read",
      summary: "One delivery with everything that was tried.",
      answers: "DeliveryDetail",
      handle: async ({ id }) => detailOf(office, id),
    }),
    route({
      ...shared,
      path: `${path}/{id}/resend`,
      summary: "A delivery that has ended, once more: answers with the new one.",
      handle: async (call) => {
        const made = await recorded(office, call, "resend", "delivery", (note) =>
          webhooks.resend(checkSerial(call.id), note),
        );
        return detailOf(office, made);
      },
    }),
    route({
      ...shared,
      path: `${path}/{id}/dismiss`,
      summary: "Settles a dead letter without sending anything.",
      handle: async (call) => {
        await recorded(office, call, "dismiss", "delivery", async (note) => {
          const letter = await letterOf(office, await deliveryOf(office, call.id));
          if (letter === undefined) {
            throw new Refused(409, { code: "NOT_ALLOWED_NOW", message: "It is no open dead letter." });
          }
          await webhooks.dismiss(letter, note);
        });
        return detailOf(office, call.id);
      },
    }),
  ];
}

export function webhookRevealers(office: Office): Revealers {
  return {
    delivery: async (id) => ({ fields: { payload: await payloadOf(office, await deliveryOf(office, id)) } }),
  };
}

async function deliveryOf({ amends }: Office, id: string): Promise<Delivery> {
  const delivery = await amends.webhooks.delivery(checkSerial(id));
  if (!delivery) throw notFound("delivery with this id");
  return delivery;
}

async function payloadOf({ amends }: Office, { eventId }: Delivery): Promise<Json> {
  const event = await amends.webhooks.event(eventId);
  return event ? parsedPayload(event.payload) : null;
}

const LETTERS_MAX = 1_000;

/** The open letter of a dead delivery. */
async function letterOf(
  { amends }: Office,
  { id, status, subscriptionId }: Delivery,
): Promise<string | undefined> {
  if (status !== "DeadLettered") return undefined;
  const letters = await amends.webhooks.deadLetters({ subscriptionId, limit: LETTERS_MAX });
  return letters.find(({ deliveryId }) => deliveryId === id)?.id;
}

/** Where the subscriptions of deliveries lead, without what may be a secret. */
export async function urlsOf(
  { amends }: Office,
  deliveries: readonly Pick<Delivery, "subscriptionId">[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(deliveries.map(({ subscriptionId }) => subscriptionId))];
  const found = await Promise.all(ids.map((id) => amends.webhooks.subscription(id).catch(() => undefined)));
  return new Map(found.flatMap((one) => (one ? [[one.id, toSubscriptionLine(one).url]] : [])));
}

async function detailOf(office: Office, id: string): Promise<DeliveryDetail> {
  const delivery = await deliveryOf(office, id);
  const urls = await urlsOf(office, [delivery]);
  const attempts = await office.amends.webhooks.attempts(delivery.id);
  const letter = await letterOf(office, delivery);
  const isDead = delivery.status === "DeadLettered";
  const { eventId, subscriptionId } = delivery;
  const siblings = isDead ? await office.amends.webhooks.deliveries({ eventId, subscriptionId }) : [];
  const requeuedAs = siblings.find(({ requeuedFrom }) => requeuedFrom === delivery.id)?.id ?? null;
  const settled = requeuedAs === null ? "Dismissed" : "Requeued";
  return {
    ...toDeliveryLine(delivery, urls.get(delivery.subscriptionId) ?? ""),
    payload: mask(await payloadOf(office, delivery)),
    requeuedFrom: delivery.requeuedFrom ?? null,
    requeuedAs,
    deadLetter: isDead ? (letter === undefined ? settled : "Open") : null,
    actions: deliveryMachine.isTerminal(delivery.status)
      ? letter === undefined
        ? ["resend"]
        : ["resend", "dismiss"]
      : [],
    attempts: attempts.map(toAttemptLine),
  };
}

function checkSerial(id: string): string {
  if (!SERIAL.test(id)) throw notFound("webhook with this id");
  return id;
}
