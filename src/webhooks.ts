/** Sending webhooks: `amends.webhooks`, its options and views, and signing. Receivers use `amends/webhooks/receive`. */
export { Webhooks, type NewSubscription, type SubscribeSettings } from "./webhooks/webhooks.ts";
export { type DisabledSignal, type WebhooksOptions } from "./webhooks/settings.ts";
export { type Published, type WebhookEvent } from "./webhooks/publishing.ts";
export { type PublishOptions } from "./runtime/publish-options.ts";
export { type Attempt, type Delivery, type DeliveryFilter } from "./webhooks/delivery-queries.ts";
export { type Span } from "./webhooks/operators.ts";
export { type StoredEvent } from "./webhooks/event-queries.ts";
export { type Pruned } from "./webhooks/retention.ts";
export { type DeadLetter } from "./webhooks/dead-letters/rows.ts";
export { type Subscription } from "./webhooks/subscriptions/rows.ts";
export { type Rate, type SubscriptionSettings } from "./webhooks/subscriptions/settings.ts";
export {
  type Sender,
  type SenderOptions,
  type SendRequest,
  type SendResult,
} from "./webhooks/sending/send.ts";
export { type SecretKey } from "./webhooks/sending/secret-box.ts";
export {
  type DeadLetterStatus,
  type DeliveryStatus,
  type SubscriptionStatus,
} from "./core/delivery/machine.ts";
export { signWebhook, type WebhookHeaders, type WebhookMessage } from "./webhooks/sending/signature.ts";
export {
  generateWebhookKeyPair,
  generateWebhookSecret,
  type WebhookKeyPair,
} from "./webhooks/sending/secret.ts";
