/**
 * A handler may wait for several events (`on: all(Paid, Packed)`), and may answer with one of several
 * (`ok: oneOf(Approved, Declined)`). A saga's steps then begin when all of their events have arrived, and follow the
 * answer that was given.
 */
import { AmendsError } from "../../core/errors.ts";
import type { AnyEvent, DataOf, DeliveredOf, EventValue, NameOf } from "./event.ts";

/** At least two types of events. */
export type SeveralEvents = readonly [AnyEvent, AnyEvent, ...AnyEvent[]];

/** All of these events of one process, made by `all(…)`. */
export interface AllOf<Events extends SeveralEvents = SeveralEvents> {
  /** The types of events. */
  readonly allOf: Events;
  /** Their names, for texts. */
  readonly type: string;
}

/** One of these events, made by `oneOf(…)`. */
export interface OneOf<Events extends SeveralEvents = SeveralEvents> {
  /** The types of events. */
  readonly oneOf: Events;
  /** Their names, for texts. */
  readonly type: string;
}

/** What a handler takes. */
export type AnyOn = AnyEvent | AllOf;
/** What a handler answers with on success. */
export type AnyAnswer = AnyEvent | OneOf;

/** The types of events that a handler waits for. */
export type TakesOf<On extends AnyOn> =
  On extends AllOf<infer Events> ? Events[number] : Extract<On, AnyEvent>;
/** The types of events of which a handler answers with one. */
export type GivesOf<Success extends AnyAnswer> =
  Success extends OneOf<infer Events> ? Events[number] : Extract<Success, AnyEvent>;

/** What a handler is called with: its event, or a list of all its events in the order of `all(…)`. */
export type TakenOf<On extends AnyOn> =
  On extends AllOf<infer Events>
    ? { readonly [K in keyof Events]: DeliveredOf<Events[K]> }
    : DeliveredOf<Extract<On, AnyEvent>>;

/** A value of one of these types of events. */
export type GivenOf<E extends AnyEvent> = E extends AnyEvent ? EventValue<NameOf<E>, DataOf<E>> : never;

/**
 * All of these events: a step whose handler takes them begins when the last one of its process has arrived. Only for
 * handlers that are steps of a saga.
 */
export function all<const Events extends SeveralEvents>(...events: Events): AllOf<Events> {
  return { allOf: checked("all", events), type: names(events, " & ") };
}

/** One of these events: a handler answers with any of them, and a saga goes on with the steps that take it. */
export function oneOf<const Events extends SeveralEvents>(...events: Events): OneOf<Events> {
  return { oneOf: checked("oneOf", events), type: names(events, " | ") };
}

/** The types of events that a handler waits for; undefined if that is none. */
export function readTakes(on: unknown): readonly AnyEvent[] | undefined {
  return isEventType(on) ? [on] : (on as Partial<AllOf> | undefined)?.allOf;
}

/** The types of events of which a handler answers with one; undefined if that is none. */
export function readGives(ok: unknown): readonly AnyEvent[] | undefined {
  return isEventType(ok) ? [ok] : (ok as Partial<OneOf> | undefined)?.oneOf;
}

/** The types of events that a handler or a consumer waits for. */
export function takesOf({ on }: { readonly on: AnyOn }): readonly AnyEvent[] {
  return readTakes(on) ?? [];
}

/** The types of events of which a handler answers with one. */
export function givesOf({ ok }: { readonly ok: AnyAnswer }): readonly AnyEvent[] {
  return readGives(ok) ?? [];
}

export function isEventType(value: unknown): value is AnyEvent {
  const { type, read } = (typeof value === "function" ? value : {}) as Partial<AnyEvent>;
  return typeof type === "string" && typeof read === "function";
}

function checked<Events extends SeveralEvents>(word: string, events: Events): Events {
  const isFine = events.length > 1 && events.every(isEventType);
  if (!isFine || new Set(events.map(({ type }) => type)).size < events.length)
    throw new AmendsError(
      "BAD_DEFINITION",
      `\`${word}(…)\` takes at least two different events, made by \`event(…)\`.`,
    );
  return Object.freeze([...events]) as unknown as Events;
}

function names(events: readonly AnyEvent[], between: string): string {
  return events.map(({ type }) => type).join(between);
}
