/** The settings of a subscription, and their validation. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkPattern } from "../../core/delivery/event-type.ts";
import { checkFilter, type Filter } from "../../core/delivery/filter.ts";
import { isWellFormed } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";

/** A rate limit. Deliveries are spaced evenly. */
export interface Rate {
  /** The number of deliveries in the period. */
  readonly max: number;
  /** The length of the period. */
  readonly per: Duration;
}

/** Where a subscription's events go, which events it wants, and the limits of its deliveries. */
export interface SubscriptionSettings {
  /** The URL of the receiver, at most 2048 characters. */
  readonly url: string;
  /** The event types, 1 to 64: `order.placed`, `order.*`, or `*` for all. */
  readonly events: readonly string[];
  /** The accepted values of the event's attributes. An event must match every attribute. Default: all events. */
  readonly filter?: Readonly<Record<string, string | readonly string[]>>;
  /** A description for operators, at most 255 characters. */
  readonly description?: string;
  /**
   * The number of attempts of one delivery, the first one included; at most 1000. Default: `webhooks.retry.attempts`.
   */
  readonly attempts?: number;
  /** The number of deliveries under way at once, at most 256. Default: `webhooks.subscriptionConcurrency`. */
  readonly concurrency?: number;
  /** The rate limit of its deliveries. Default: none. */
  readonly rate?: Rate;
  /**
   * Delivers one event at a time, in the order of publication. A failing delivery holds up the others. Default: false.
   */
  readonly ordered?: boolean;
  /** The time limit of one attempt, at most 60s. Default: `webhooks.timeout`. */
  readonly timeout?: Duration;
}

export interface CheckedSettings {
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: Filter;
  readonly description: string | null;
  readonly attemptMax: number | null;
  readonly concurrency: number;
  readonly intervalMs: number;
  readonly ordered: boolean;
  readonly timeoutMs: number | null;
}

const KNOWN = [
  "url",
  "events",
  "filter",
  "description",
  "attempts",
  "concurrency",
  "rate",
  "ordered",
  "timeout",
];
const URL_MAX = 2_048;
const EVENTS_MAX = 64;
const DESCRIPTION_MAX = 255;
export const ATTEMPTS_MAX = 1_000;
const TIMEOUT_MAX_MS = 60_000;
export const CONCURRENCY_MAX = 256;

export interface Defaults {
  readonly concurrency: number;
  checkUrl(url: string): void;
}

export function checkSettings(given: SubscriptionSettings, defaults: Defaults): CheckedSettings {
  refuseUnknown(given, KNOWN, "A subscription");
  const { url, events, description = null, attempts = null, concurrency = defaults.concurrency } = given;
  if (typeof url !== "string" || url.length > URL_MAX) refuse("url", `must be at most ${URL_MAX} characters`);
  defaults.checkUrl(url);
  if (!Array.isArray(events) || events.length === 0 || events.length > EVENTS_MAX) {
    refuse("events", `must be a list of 1 to ${EVENTS_MAX} types`);
  }
  const isDescribed =
    description === null ||
    (typeof description === "string" && description.length <= DESCRIPTION_MAX && isStorable(description));
  if (!isDescribed) refuse("description", `must be a text of at most ${DESCRIPTION_MAX} characters`);
  if (attempts !== null) checkCount(attempts, ATTEMPTS_MAX, "attempts");
  checkCount(concurrency, CONCURRENCY_MAX, "concurrency");
  return {
    url,
    events: [...new Set(events.map(checkPattern))],
    filter: checkFilter(given.filter),
    description,
    attemptMax: attempts,
    concurrency,
    intervalMs: given.rate === undefined ? 0 : intervalOf(given.rate),
    ordered: given.ordered === true,
    timeoutMs: given.timeout === undefined ? null : timeoutOf(given.timeout),
  };
}

/** Begins with a letter, so that it can never be taken for a number that Amends gave out. */
const KEY = /^[A-Za-z][\w.:-]{0,127}$/;

export function isSubscriptionKey(id: unknown): id is string {
  return typeof id === "string" && KEY.test(id);
}

export function checkSubscriptionKey(id: unknown): string {
  if (isSubscriptionKey(id)) return id;
  throw new AmendsError(
    "BAD_ID",
    "The id of a subscription is a letter and up to 127 letters, digits, dots, dashes, underscores and colons.",
    { field: "id" },
  );
}

/** A positive whole number, or a refusal that names the option. */
export function checkCount(value: unknown, max: number, field: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
  return refuse(field, `must be a whole number of 1 to ${max}`);
}

function intervalOf(rate: Rate): number {
  refuseUnknown(rate, ["max", "per"], "A subscription's rate");
  return Math.max(
    1,
    Math.ceil(positiveMs(rate.per, "rate.per") / checkCount(rate.max, 1_000_000, "rate.max")),
  );
}

function timeoutOf(timeout: Duration): number {
  const ms = positiveMs(timeout, "timeout");
  return ms <= TIMEOUT_MAX_MS ? ms : refuse("timeout", "must be at most 60 seconds");
}

function isStorable(text: string): boolean {
  return !text.includes("\0") && isWellFormed(text);
}

function refuse(field: string, why: string): never {
  throw new AmendsError("BAD_OPTION", `${field} ${why}.`, { field });
}
