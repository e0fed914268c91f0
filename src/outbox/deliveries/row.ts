/**
 * Events in the outbox. A row of kind `delivery` is one event on its way to one handler; a row of kind `event` is
 * an event that no process with a handler for it has routed yet. The folder events/ decides what is written; this
 * folder writes it.
 */
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import { bigint, instant, int, optional, text, uuid } from "../../storage/column.ts";
import { projection, table, type Projection, type Table } from "../../storage/table.ts";

/**
 * How the rows for handlers that only other processes know follow from a row. `apart`: the row has the correlation of a
 * saga's process, and theirs is that of the event. `alone`: none follow from it.
 */
export const FANS = ["event", "apart", "alone"] as const;

/** A row to be written. */
export interface NewDelivery {
  readonly id: string;
  /** The token of its first claim, if the process that inserts it claims it at once. */
  readonly firstToken: number;
  readonly eventId: string;
  readonly name: string;
  readonly version: number;
  readonly payload: string;
  /** Undefined: the event is still to be routed. */
  readonly handler: string | undefined;
  readonly correlation: string | undefined;
  readonly causation: string | undefined;
  /** The run that it is sent out for. */
  readonly sagaId: string | undefined;
  /** It begins that run. If the run does not begin, the row is superseded. */
  readonly opens: boolean;
  /** The traceparent that it belongs to. */
  readonly trace: string | undefined;
  /** The saga that the handler does a step of, as this process knows it. */
  readonly saga: string | undefined;
  /** The name whose lanes it goes to, if that is not its handler. */
  readonly laneOf: string | undefined;
  readonly fan: (typeof FANS)[number];
  /** If the row is `apart`: the correlation of the event. */
  readonly eventCorrelation: string | undefined;
}

/** The id and the token of a claim: together they are unique. */
export interface DeliveryClaim {
  readonly id: string;
  readonly token: number;
}

/** The settle of a claimed delivery. */
export interface DeliveryOutcome {
  readonly delivery: DeliveryClaim & { readonly handler?: string | undefined };
  readonly to: OutboxStatus;
  /** Milliseconds until the retry, if there is one. */
  readonly waitMs?: number | undefined;
  /** A label, never a message. */
  readonly error?: string | undefined;
  /** The claim does not count as an attempt. */
  readonly uncounted?: boolean | undefined;
  /** The delivery goes to the workers of this lane from now on. */
  readonly lane?: string | undefined;
  /** The recorded result of its handler, as JSON. */
  readonly answer?: string | undefined;
  /** True if later deliveries of the same correlation and handler may wait for this one. */
  readonly queue?: { readonly handler: string; readonly correlation: string } | undefined;
}

/** A row as it is read. */
export interface DeliveryRow extends DeliveryClaim {
  readonly eventId: string;
  readonly name: string;
  readonly version: number;
  readonly payload: string | undefined;
  readonly handler: string | undefined;
  readonly correlation: string | undefined;
  readonly causation: string | undefined;
  readonly sagaId: string | undefined;
  readonly attempts: number;
  readonly trace: string | undefined;
  /** When it was written. */
  readonly timeMs: number;
}

export const DELIVERY: Table<DeliveryRow> = table("outbox", {
  id: uuid("entry_id"),
  token: bigint("token"),
  eventId: uuid("event_id"),
  name: text("name"),
  version: int("event_version"),
  payload: optional(text("payload")),
  handler: optional(text("handler")),
  correlation: optional(text("correlation")),
  causation: optional(uuid("causation")),
  sagaId: optional(text("saga_id")),
  attempts: int("attempts"),
  trace: optional(text("traceparent")),
  timeMs: instant("enqueued_at"),
});

/** A delivery as a claim returns it. */
export interface ClaimedDelivery extends DeliveryRow {
  /** The result of its handler, if another process has recorded it. */
  readonly answer: string | undefined;
  /** Where it was waiting. */
  readonly lane: string;
  /** `step:` or `undo:` and a saga, if its handler is registered as a part of that saga. */
  readonly place: string | undefined;
}

export const CLAIMED_DELIVERY: Projection<ClaimedDelivery> = projection({
  ...DELIVERY.shape,
  answer: optional(text("answer")),
  lane: text("lane"),
  place: optional(text("place")),
});

/** The same with the fields that operators need. */
export interface DeliveryState extends DeliveryRow {
  readonly status: OutboxStatus;
  readonly lastError: string | undefined;
}

export const DELIVERY_STATE: Table<DeliveryState> = table("outbox", {
  ...DELIVERY.shape,
  status: text<OutboxStatus>("status"),
  lastError: optional(text("last_error")),
});

/** A claim that was found. */
export const DELIVERY_CLAIM: Projection<DeliveryClaim> = projection({
  id: uuid("entry_id"),
  token: bigint("token"),
});
