/**
 * Publishing: the event and its deliveries are written in the caller's transaction, and exist if and only if it
 * commits. Publishing the same event again changes nothing.
 */
import { checkEventType, patternsFor } from "../../core/delivery/event-type.ts";
import { checkAttributes, pairOf } from "../../core/delivery/filter.ts";
import { AmendsError } from "../../core/errors.ts";
import { encodeJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Session } from "../../storage/database.ts";
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

  /** Everything is checked before anything is written. */
  async publish(session: Session, given: WebhookEvent): Promise<Published> {
    refuseUnknown(given, ["type", "data", "id", "attributes", "occurredAt"], "An event");
    const event: NewEvent = {
      key: checkKey(given.id ?? this.#newId()),
      type: checkEventType(given.type),
      attributes: checkAttributes(given.attributes),
      payload: this.#encode(given),
    };
    const created = (await this.#write(session, event)) !== undefined;
    if (!created) refuseOther(event, await this.#existing(session, event.key));
    return { id: event.key, created };
  }

  /** An event that Amends itself publishes to its subscribers. */
  async announce(session: Session, key: string, type: string, data: unknown): Promise<void> {
    await this.#write(session, { key, type, attributes: {}, payload: JSON.stringify({ type, data }) });
  }

  /** An event without deliveries. Returns its number. */
  async deposit(session: Session, type: string, data: unknown): Promise<{ id: string; key: string }> {
    const event = { key: this.#newId(), type, attributes: {}, payload: JSON.stringify({ type, data }) };
    const [row] = await session.query(insertEvent(session.dialect, event, this.#traceparent()));
    return { id: String(row?.["id"]), key: event.key };
  }

  /** One delivery for each subscription that wants the event. Undefined if the event exists already. */
  async #write(session: Session, event: NewEvent): Promise<string | undefined> {
    const { dialect } = session;
    const [row] = await session.query(insertEvent(dialect, event, this.#traceparent()));
    if (!row) return undefined;
    const id = String(row["id"]);
    const pairs = Object.entries(event.attributes).map(([name, value]) => pairOf(name, value));
    await session.query(routeEvent(dialect, id, patternsFor(event.type), pairs));
    const notice = dialect.notify();
    if (notice) await session.query(notice);
    return id;
  }

  async #existing(session: Session, key: string): Promise<NewEvent | undefined> {
    const [row] = await session.query(selectEvent(session.dialect, key));
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
