/** Erasure and rectification: what an application holds of a person, declared once, and taken away or corrected everywhere. */
export { Erasure, type ErasureOptions, type SubjectVerification } from "./erasure/erasure.ts";
export {
  dataMap,
  dataMapFromJson,
  type DataMap,
  type DataMapJson,
  type ErasedColumn,
  type PersonalColumn,
  type RetainedColumn,
  type RetentionPolicy,
  type Strategy,
  type SurrogateValue,
  type TableDeclaration,
  type ViaDeclaration,
} from "./core/erasure/data-map.ts";
export { type Period } from "./core/erasure/period.ts";
export { type EnqueuedCall, type ErasureReport } from "./erasure/local/erase.ts";
export { type LeftData, type RetainedData, type RowCounts } from "./erasure/local/local-phase.ts";
export {
  type BlockingEntry,
  type OverdueErasure,
  type OverdueOptions,
  type OverduePage,
} from "./erasure/overdue.ts";
export { type RectificationReport, type RectifyOptions } from "./erasure/local/rectify.ts";
export { type ErasurePlan } from "./core/erasure/plan.ts";
export { type Correction, type CorrectedValue, type SubjectRef } from "./core/outbox/entry.ts";
export { BackoffPolicy, type BackoffOptions, type BackoffSettings } from "./outbox/backoff-policy.ts";
export { httpResolver } from "./resolvers/http.ts";
export {
  type HttpAbout,
  type HttpErasureOptions,
  type HttpExpiryOptions,
  type HttpHeaders,
  type HttpRequest,
  type HttpResolverOptions,
  type HttpSchedule,
  type HttpVerification,
} from "./resolvers/http-options.ts";
export { type HttpAddress } from "./resolvers/http-address.ts";
export { type HttpReply } from "./resolvers/http-exchange.ts";
export { type HttpOutcome, type HttpStatuses } from "./resolvers/http-outcome.ts";
export { stripeResolver, type StripeResolverOptions } from "./resolvers/stripe.ts";
export { type StripeClient, type StripeField } from "./resolvers/stripe-client.ts";
