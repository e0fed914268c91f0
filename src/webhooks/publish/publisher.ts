/**
 * Publishing: the event and its deliveries are written in the caller's transaction, and exist if and only if it
 * commits. Publishing the same event again changes nothing.
 */
import { checkEventType, patternsFor } from "../../core/delivery/event-type.ts";
import { checkAttributes, pairOf } from "../../core/delivery/filter.ts";
import { AmendsError } from "../../core/errors.ts";
import { encodeJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Dialect, Session } from "../../storage/database.ts";
import { perform, type Work } from "../../storage/joins/work.ts";
import { EVENT, insertEvent, routeEvent, selectEvent, type NewEvent } from "./queries.ts";

/** An event to publish to subscribers. */
export interface WebhookEvent {
  /** The type of the event, such as `order.placed`. */
  readonly type: string;
  /** The data of the event: anything that JSON can hold. */
  readonly data: unknown;
  /**
   * The id of the event, which receivers get in `webhook-id`. Publishing the same id again changes nothing. Default: a
   * new id.
   */
  readonly id?: string;
  /** Values by which subscriptions can filter. They are not sent. Default: none. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** When the event occurred. It is sent as `timestamp`, beside `type` and `data`. */
  readonly occurredAt?: Date;
}

/** The result of publishing an event. */
export interface Published {
  /** The id of the event. */
  readonly id: string;
  /** False if the same event was published before. */
  readonly created: boolean;
}

/** What a header can hold, without the dot that separates the parts of a signature. */
const KEY = /^[!-\-/-~]{1,180}$/;

export class Publisher {
  readonly #payloadMax: number;
  readonly #newId: () => string;
  /** Of whatever is under way here. */
  readonly #traceparent: () => string | undefined;

  constructor(
    payloadMax: number,
    newId: () => string,
    traceparent: () => string | undefined = () => undefined,
  ) {
    this.#payloadMax = payloadMax;
    this.#newId = newId;
    this.#traceparent = traceparent;
  }

  async publish(session: Session, given: WebhookEvent): Promise<Published> {
    return perform(session, this.publishing(session.dialect, given));
  }

  /** Everything is checked before anything is written. */
  *publishing(dialect: Dialect, given: WebhookEvent): Work<Published> {
    refuseUnknown(given, ["type", "data", "id", "attributes", "occurredAt"], "An event");
    const event: NewEvent = {
      key: checkKey(given.id ?? this.#newId()),
      type: checkEventType(given.type),
      attributes: checkAttributes(given.attributes),
      payload: this.#encode(given),
    };
    const created = (yield* this.#write(dialect, event)) !== undefined;
    if (!created) refuseOther(event, yield* this.#existing(dialect, event.key));
    return { id: event.key, created };
  }

  /** An event that Amends itself publishes to its subscribers. */
  async announce(session: Session, key: string, type: string, data: unknown): Promise<void> {
    const event = { key, type, attributes: {}, payload: JSON.stringify({ type, data }) };
    await perform(session, this.#write(session.dialect, event));
  }

  /** An event without deliveries. Returns its number. */
  async deposit(session: Session, type: string, data: unknown): Promise<{ id: string; key: string }> {
    const event = { key: this.#newId(), type, attributes: {}, payload: JSON.stringify({ type, data }) };
    const [row] = await session.query(insertEvent(session.dialect, event, this.#traceparent()));
    return { id: String(row?.["id"]), key: event.key };
  }

  /** One delivery for each subscription that wants the event. Undefined if the event exists already. */
  *#write(dialect: Dialect, event: NewEvent): Work<string | undefined> {
    const [row] = yield insertEvent(dialect, event, this.#traceparent());
    if (!row) return undefined;
    const id = String(row["id"]);
    const pairs = Object.entries(event.attributes).map(([name, value]) => pairOf(name, value));
    yield routeEvent(dialect, id, patternsFor(event.type), pairs);
    const notice = dialect.notify();
    if (notice) yield notice;
    return id;
  }

  *#existing(dialect: Dialect, key: string): Work<NewEvent | undefined> {
    const [row] = yield selectEvent(dialect, key);
    return row && EVENT.read(row);
  }

  #encode({ type, data, occurredAt }: WebhookEvent): string {
    if (occurredAt !== undefined && !(occurredAt instanceof Date && Number.isFinite(occurredAt.getTime()))) {
      throw new AmendsError("BAD_INPUT", "occurredAt must be a valid Date.", { field: "occurredAt" });
    }
    const timestamp = occurredAt && { timestamp: occurredAt.toISOString() };
    const body = { type, ...timestamp, data };
    const text = encodeJson(body, { field: "The event", allowNul: true }) as string;
    const bytes = Buffer.byteLength(text);
    if (bytes <= this.#payloadMax) return text;
    throw new AmendsError(
      "BAD_INPUT",
      `The event has ${bytes} bytes, more than the ${this.#payloadMax} that webhooks.maxPayload allows. Send a link to what is large.`,
      { field: "data" },
    );
  }
}

function checkKey(key: unknown): string {
  if (typeof key === "string" && KEY.test(key)) return key;
  throw new AmendsError(
    "BAD_ID",
    "The id of an event is 1 to 180 visible ASCII characters without a dot: it is sent as a header.",
    { field: "id" },
  );
}

function refuseOther(event: NewEvent, found: NewEvent | undefined): void {
  const isSame =
    found?.type === event.type &&
    found.payload === event.payload &&
    JSON.stringify(found.attributes) === JSON.stringify(event.attributes);
  if (isSame) return;
  throw new AmendsError(
    "WEBHOOK_CONFLICT",
    "Another event was published under this id, with another type, data or attributes.",
    { id: event.key },
  );
}
