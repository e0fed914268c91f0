/** The options of `new Amends({ webhooks: … })`, read and checked once. */
import { checkBackoff, checkLease, DEFAULT_BACKOFF } from "../core/backoff.ts";
import type { DeliveryPolicy } from "../core/delivery/decide.ts";
import { RETRY_AFTER_MAX_MS } from "../core/retry-after.ts";
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { BYTES_MAX } from "../core/json.ts";
import { refuseUnknown } from "../core/options.ts";
import type { SecretKey } from "./http/secret-box.ts";
import type { Sender, SenderOptions } from "./http/send.ts";
import { checkCount, CONCURRENCY_MAX } from "./subscriptions/settings.ts";

/** Labels only, safe to send to whoever is on call. */
export interface DisabledSignal {
  readonly subscriptionId: string;
  readonly reason: "gone" | "failing";
}

export interface WebhooksOptions {
  /** Attempts of one delivery in all; 20, which with the default backoff is about 14 hours. */
  readonly maxAttempts?: number;
  /** After the n-th attempt: min(base · 2^(n−1), cap). 30 seconds and 1 hour. */
  readonly backoff?: { readonly base?: Duration; readonly cap?: Duration };
  /** How far deliveries that would wake together are moved apart: 0.2 is up to a tenth, both ways. */
  readonly spread?: number;
  /** How long a worker that vanished keeps its jobs: 60 seconds. */
  readonly lease?: Duration;
  /** How often a job whose worker vanished is leased before it counts as failed: 3. */
  readonly maxLeases?: number;
  /** How many deliveries one worker has under way at once: 256. */
  readonly concurrency?: number;
  /** How many of one subscription's, unless it says otherwise: 4. */
  readonly subscriptionConcurrency?: number;
  /** For one attempt, unless the subscription says otherwise: 20 seconds. */
  readonly timeout?: Duration;
  /** The largest payload in bytes: 262,144. */
  readonly maxPayload?: number;
  /** Seals the secrets of subscriptions in the database: 32 bytes, or several keys with the newest first. */
  readonly secretKey?: SecretKey | readonly SecretKey[];
  /** A subscription where nothing has arrived for so long is disabled: 5 days. */
  readonly disableAfter?: Duration;
  /** Which addresses may be called, and how. */
  readonly sending?: SenderOptions;
  /** Takes the place of the HTTP client, in tests. */
  readonly sender?: Sender;
  /** Called after a subscription was disabled, durably. What it throws is ignored. */
  readonly onDisabled?: (signal: DisabledSignal) => unknown;
}

const KNOWN = [
  "maxAttempts",
  "backoff",
  "spread",
  "lease",
  "maxLeases",
  "concurrency",
  "subscriptionConcurrency",
  "timeout",
  "maxPayload",
  "secretKey",
  "disableAfter",
  "sending",
  "sender",
  "onDisabled",
];

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
  const { backoff = {}, spread: spreadRatio = 0.2 } = given;
  refuseUnknown(backoff, ["base", "cap"], "webhooks.backoff");
  if (!(spreadRatio >= 0 && spreadRatio <= 1)) {
    throw new AmendsError("BAD_OPTION", "webhooks.spread must be a number from 0 to 1.");
  }
  const count = (value: number, max: number, name: string): number =>
    checkCount(value, max, `webhooks.${name}`);
  const ms = (value: Duration, name: string): number => positiveMs(value, `webhooks.${name}`);
  return {
    policy: {
      backoff: checkBackoff(
        {
          ...DEFAULT_BACKOFF,
          baseMs: ms(backoff.base ?? DEFAULT_BACKOFF.baseMs, "backoff.base"),
          capMs: ms(backoff.cap ?? DEFAULT_BACKOFF.capMs, "backoff.cap"),
        },
        "webhooks.backoff",
      ),
      spreadRatio,
      retryAfterMaxMs: RETRY_AFTER_MAX_MS,
    },
    attemptMax: count(given.maxAttempts ?? 20, 1_000, "maxAttempts"),
    leaseMs: checkLease(ms(given.lease ?? "60s", "lease"), "webhooks.lease"),
    leaseMax: count(given.maxLeases ?? 3, 100, "maxLeases"),
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
