/** Sending webhooks: `amends.webhooks`, its options and views, and signing. Receivers use `amends/webhooks/receive`. */
export {
  Webhooks,
  type DeclaredSubscription,
  type NewSubscription,
  type SubscribeSettings,
} from "./webhooks/webhooks.ts";
export { type DisabledSignal, type WebhooksOptions } from "./webhooks/settings.ts";
export { type Published, type WebhookEvent } from "./webhooks/publish/publisher.ts";
export { type WebhookOfEvent, type WebhookType } from "./webhooks/typed-events.ts";
export { type PublishOptions } from "./runtime/part.ts";
export { type Attempt, type Delivery, type DeliveryFilter } from "./webhooks/delivery-queries.ts";
export { type Span } from "./webhooks/operators.ts";
export { type StoredEvent } from "./webhooks/publish/queries.ts";
export { type Pruned } from "./webhooks/retention.ts";
export { type DeadLetter } from "./webhooks/dead-letters/rows.ts";
export { type Subscription } from "./webhooks/subscriptions/view.ts";
export { type Rate, type SubscriptionSettings } from "./webhooks/subscriptions/settings.ts";
export { type Sender, type SenderOptions, type SendRequest, type SendResult } from "./webhooks/http/send.ts";
export { type SecretKey } from "./webhooks/http/secret-box.ts";
export {
  type DeadLetterStatus,
  type DeliveryStatus,
  type SubscriptionStatus,
} from "./core/delivery/machine.ts";
export { type Filter } from "./core/delivery/filter.ts";
export { type Verdict } from "./core/delivery/job.ts";
export { type SendResponse } from "./webhooks/http/response.ts";
export { signWebhook, type WebhookHeaders, type WebhookMessage } from "./webhooks/http/signature.ts";
export {
  generateWebhookKeyPair,
  generateWebhookSecret,
  type WebhookKeyPair,
} from "./webhooks/http/secret.ts";
