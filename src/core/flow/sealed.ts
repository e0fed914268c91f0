/**
 * The hidden part of an event, under a symbol: its type, its version and its data as stored. It identifies the
 * `event(…)` definition that made the value.
 */
export const SEAL: unique symbol = Symbol.for("amends.event") as never;

export interface Sealed {
  readonly type: string;
  readonly version: number;
  readonly id: string;
  /** True if the caller gave the id. */
  readonly hasGivenId: boolean;
  /** The data as JSON. */
  readonly payload: string;
  /** The correlation id, if the caller gave one. */
  readonly correlation: string | undefined;
}

export function sealOf(value: unknown): Sealed | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { readonly [SEAL]?: Sealed })[SEAL];
}

/** Reserved names: a field of the event's data cannot have one. */
export const RESERVED_FIELDS = ["type", "id", "time", "correlation", "causation"] as const;
export type ReservedField = (typeof RESERVED_FIELDS)[number];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: unknown): text is string {
  return typeof text === "string" && UUID.test(text);
}

/**
 * The id of one event's delivery to one handler. It is the event's id with the handler's name mixed into its last 32
 * bits, which are random. The same pair always has the same id, so that the primary key alone stores each pair once; and ids
 * are in the order of the events, so that the key's index grows at its end.
 */
export function deliveryId(eventId: string, handler: string): string {
  const tail = (Number.parseInt(eventId.slice(28), 16) ^ hashOf(handler)) >>> 0;
  return eventId.slice(0, 28) + tail.toString(16).padStart(8, "0");
}

/** The number that a handler's name mixes into the ids of its deliveries. */
export function handlerHash(handler: string): number {
  return hashOf(handler) >>> 0;
}

function hashOf(handler: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < handler.length; i++) hash = Math.imul(hash ^ handler.charCodeAt(i), 0x01000193);
  return hash;
}
