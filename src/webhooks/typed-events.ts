/**
 * Typed events that partners get as webhooks. A consumer of each publishes it in the transaction that marks it as consumed, so that
 * every event becomes one webhook, under its own id.
 */
import { ACT_RETRY } from "../core/backoff.ts";
import { checkEventType } from "../core/delivery/event-type.ts";
import { AmendsError } from "../core/errors.ts";
import { sealOf, type Sealed } from "../core/flow/sealed.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Consumer } from "../events/define/consumer.ts";
import type { AnyEvent, DeliveredEvent } from "../events/define/event.ts";
import type { HandlerContext } from "../events/define/handler.ts";
import { isEventType } from "../events/define/several.ts";
import { WEBHOOK_PREFIX } from "../events/define/subscriber.ts";
import type { TransactionKind } from "../sagas/define/transaction-kind.ts";
import type { WebhookEvent } from "./publish/publisher.ts";

/** A typed event that becomes a webhook under a name, or with attributes, of its own. */
export interface WebhookOfEvent {
  /** The type of event. */
  readonly event: AnyEvent;
  /** The type of the webhook, such as `order.placed`. Default: the name of the event. */
  readonly type?: string;
  /** The fields of the event that subscriptions can filter by. Default: none. */
  readonly attributes?: readonly string[];
}

/** One type of webhook that this program publishes. */
export interface WebhookType {
  /** The type of the webhook. */
  readonly type: string;
  /** The name of the typed event that it is made of. */
  readonly event: string;
  /** The version of the data that is sent. */
  readonly version: number;
  /** The JSON Schema of `data`; undefined if the schema's library cannot give one. */
  readonly schema: Readonly<Record<string, unknown>> | undefined;
}

export interface TypedEvent {
  readonly event: AnyEvent;
  readonly type: string;
  readonly attributes: readonly string[];
}

type Publish<Tx> = (event: WebhookEvent, options: { readonly tx: Tx }) => Promise<unknown>;

const WHERE = "webhooks.events";

/** The option `webhooks.events`, checked. */
export function readTypedEvents(given: readonly (AnyEvent | WebhookOfEvent)[] = []): readonly TypedEvent[] {
  if (!Array.isArray(given)) throw bad(`${WHERE} must be a list of events.`);
  const events = given.map(readOne);
  for (const [at, { type, event }] of events.entries()) {
    const before = events.slice(0, at);
    if (before.some((other) => other.event.type === event.type))
      throw bad(`${WHERE} lists ${event.type} twice.`);
    if (before.some((other) => other.type === type))
      throw bad(`${WHERE} gives the type ${type} to two events: a receiver could not tell them apart.`);
  }
  return events;
}

function readOne(given: AnyEvent | WebhookOfEvent): TypedEvent {
  const options: WebhookOfEvent = isEventType(given) ? { event: given } : given;
  refuseUnknown(options, ["event", "type", "attributes"], WHERE);
  const { event, type, attributes = [] } = options;
  if (!isEventType(event)) throw bad(`${WHERE} takes events, made by \`event(…)\`.`);
  if (!Array.isArray(attributes) || !attributes.every((name) => typeof name === "string"))
    throw bad(`${WHERE}: the attributes of ${event.type} must be a list of names of fields.`);
  return { event, type: checkEventType(type ?? event.type), attributes };
}

export function catalogueOf(events: readonly TypedEvent[]): readonly WebhookType[] {
  return events
    .map(({ event, type }) => ({
      type,
      event: event.type,
      version: event.version,
      schema: event.jsonSchema(),
    }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

/** The consumers that publish these events. Their names are reserved. */
export function webhookConsumers<Tx>(
  events: readonly TypedEvent[],
  transaction: TransactionKind<Tx>,
  publish: Publish<Tx>,
): readonly Consumer[] {
  return events.map((typed) => ({
    name: WEBHOOK_PREFIX + typed.event.type,
    on: typed.event,
    retry: ACT_RETRY,
    timeoutMs: undefined,
    transaction,
    handle: (event: DeliveredEvent, { tx }: HandlerContext<Tx>) => publish(webhookOf(typed, event), { tx }),
  }));
}

/** The data is what was published, in the newest form: what the schema makes of it may have no JSON. */
function webhookOf({ event, type, attributes }: TypedEvent, value: DeliveredEvent): WebhookEvent {
  const { payload, version } = sealOf(value) as Sealed;
  const fields = value as unknown as Readonly<Record<string, unknown>>;
  const known = attributes.flatMap((name) =>
    isAttribute(fields[name]) ? [[name, fields[name]] as const] : [],
  );
  return {
    id: value.id,
    type,
    data: event.upcast(payload, version),
    attributes: Object.fromEntries(known),
    occurredAt: value.time,
  };
}

function isAttribute(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

function bad(message: string): AmendsError {
  return new AmendsError("BAD_OPTION", message);
}
