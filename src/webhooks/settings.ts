/** The options of `new Amends({ webhooks: … })`, read and checked once. */
import {
  checkLease,
  DEFAULT_BACKOFF,
  readRetry,
  type RetryOptions,
  type RetryPolicy,
} from "../core/backoff.ts";
import type { DeliveryPolicy } from "../core/delivery/decide.ts";
import { RETRY_AFTER_MAX_MS } from "../core/retry-after.ts";
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { BYTES_MAX } from "../core/json.ts";
import { refuseUnknown } from "../core/options.ts";
import type { SecretKey } from "./http/secret-box.ts";
import type { AnyEvent } from "../events/define/event.ts";
import type { Sender, SenderOptions } from "./http/send.ts";
import type { WebhookOfEvent } from "./typed-events.ts";
import { ATTEMPTS_MAX, checkCount, CONCURRENCY_MAX } from "./subscriptions/settings.ts";

/** A subscription was disabled. It holds ids and labels only, so it may go to a chat or a pager. */
export interface DisabledSignal {
  /** The subscription's id. */
  readonly subscriptionId: string;
  /** `gone`: the receiver answered 410. `failing`: nothing has arrived for `disableAfter`. */
  readonly reason: "gone" | "failing";
}

/** The option `webhooks` of `new Amends`. An empty object configures webhooks with the defaults. */
export interface WebhooksOptions {
  /** The attempts of one delivery and the waits between them. Default: 20 attempts, from 30s up to 1h, about 14 hours in all. */
  readonly retry?: RetryOptions;
  /** The jitter of retries, from 0 to 1 of the wait. Default: 0.2, up to a tenth both ways. */
  readonly spread?: number;
  /** The lease of a job: how long a worker that vanished keeps it. Default: 60s. */
  readonly lease?: Duration;
  /** How often a job whose worker vanished is leased again before it counts as failed. Default: 2. */
  readonly recoveries?: number;
  /** The number of deliveries that one worker has under way at once. Default: 256. */
  readonly concurrency?: number;
  /** The number of deliveries to one subscription at once, unless the subscription has its own. Default: 4. */
  readonly subscriptionConcurrency?: number;
  /** The time limit of one attempt, unless the subscription has its own. Default: 20s. */
  readonly timeout?: Duration;
  /** The largest payload in bytes. Default: 262144. */
  readonly maxPayload?: number;
  /** Encrypts the secrets of subscriptions in the database: 32 bytes, or several keys with the newest first. */
  readonly secretKey?: SecretKey | readonly SecretKey[];
  /** A subscription to which nothing has arrived for this long is disabled. Default: 5d. */
  readonly disableAfter?: Duration;
  /** Which addresses may be called, and how. */
  readonly sending?: SenderOptions;
  /**
   * Typed events that become webhooks, each with its name as the type, or `{ event, type, attributes }`. Configure them in each
   * process that publishes or handles these events. Default: none.
   */
  readonly events?: readonly (AnyEvent | WebhookOfEvent)[];
  /** Replaces the HTTP client, in tests. */
  readonly sender?: Sender;
  /** Called after a subscription was disabled durably. Its errors are ignored. */
  readonly onDisabled?: (signal: DisabledSignal) => unknown;
}

const KNOWN = [
  "retry",
  "spread",
  "lease",
  "recoveries",
  "concurrency",
  "subscriptionConcurrency",
  "timeout",
  "maxPayload",
  "secretKey",
  "disableAfter",
  "sending",
  "sender",
  "events",
  "onDisabled",
];

/** About 14 hours in all. */
const DELIVERY_RETRY: RetryPolicy = { ...DEFAULT_BACKOFF, attemptMax: 20 };

export interface WebhooksSettings {
  readonly policy: DeliveryPolicy;
  readonly attemptMax: number;
  readonly leaseMs: number;
  readonly leaseMax: number;
  readonly concurrency: number;
  readonly subscriptionConcurrency: number;
  readonly timeoutMs: number;
  readonly payloadMax: number;
  readonly disableAfterMs: number;
}

export function readSettings(given: WebhooksOptions): WebhooksSettings {
  refuseUnknown(given, KNOWN, "new Amends({ webhooks })");
  const { spread: spreadRatio = 0.2 } = given;
  if (!(spreadRatio >= 0 && spreadRatio <= 1)) {
    throw new AmendsError("BAD_OPTION", "webhooks.spread must be a number from 0 to 1.");
  }
  const count = (value: number, max: number, name: string): number =>
    checkCount(value, max, `webhooks.${name}`);
  const ms = (value: Duration, name: string): number => positiveMs(value, `webhooks.${name}`);
  const { attemptMax, ...backoff } = readRetry(given.retry, DELIVERY_RETRY, "webhooks.retry", "BAD_OPTION");
  const recoveries = given.recoveries ?? 2;
  if (!Number.isInteger(recoveries) || recoveries < 0 || recoveries >= 100) {
    throw new AmendsError("BAD_OPTION", "webhooks.recoveries must be a whole number of 0 to 99.");
  }
  return {
    policy: { backoff, spreadRatio, retryAfterMaxMs: RETRY_AFTER_MAX_MS },
    attemptMax: count(attemptMax, ATTEMPTS_MAX, "retry.attempts"),
    leaseMs: checkLease(ms(given.lease ?? "60s", "lease"), "webhooks.lease"),
    leaseMax: recoveries + 1,
    concurrency: count(given.concurrency ?? 256, 10_000, "concurrency"),
    subscriptionConcurrency: count(
      given.subscriptionConcurrency ?? 4,
      CONCURRENCY_MAX,
      "subscriptionConcurrency",
    ),
    timeoutMs: ms(given.timeout ?? "20s", "timeout"),
    payloadMax: count(given.maxPayload ?? 262_144, BYTES_MAX, "maxPayload"),
    disableAfterMs: ms(given.disableAfter ?? "5d", "disableAfter"),
  };
}
