/** Erasure and rectification: what an application holds of a person, declared once, and taken away or corrected everywhere. */
export { Erasure, type ErasureOptions, type SubjectVerification } from "./erasure/erasure.ts";
export {
  dataMap,
  dataMapFromJson,
  type DataMap,
  type DataMapJson,
  type ErasedColumn,
  type LegalRetention,
  type MappedReach,
  type MappedTable,
  type PersonalColumn,
  type RetainedColumn,
  type Strategy,
  type SurrogateValue,
  type TableDeclaration,
  type ViaDeclaration,
} from "./core/erasure/data-map.ts";
export { type Period } from "./core/erasure/period.ts";
export { type EnqueuedCall, type ErasureReport } from "./erasure/local/erase.ts";
export { type LeftData, type RetainedData, type RowCounts } from "./erasure/local/carry-out.ts";
export {
  type BlockingEntry,
  type OverdueErasure,
  type OverdueOptions,
  type OverduePage,
} from "./erasure/overdue.ts";
export { type RectificationReport, type RectifyOptions } from "./erasure/local/rectify.ts";
export { type ErasurePlan, type UnfollowedKey } from "./core/erasure/plan.ts";
export {
  type Correction,
  type CorrectedValue,
  type NewOutboxEntry,
  type OutboxEntry,
  type OutboxOperation,
  type SubjectRef,
  type Verification,
} from "./core/outbox/entry.ts";
export { type OutboxStatus } from "./core/outbox/machine.ts";
export {
  Outbox,
  type ClaimOptions,
  type FailedOptions,
  type OutboxOptions,
  type SucceededOptions,
} from "./erasure/remote/outbox.ts";
export { type EntryPage, type PageOptions } from "./outbox/read/entry-page.ts";
export { ResolverRegistry } from "./erasure/remote/registry.ts";
export { SagaRunner, type SagaRunnerOptions } from "./erasure/remote/runner.ts";
export { type AbandonedHook, type AbandonedSignal } from "./erasure/remote/abandoned.ts";
export { type RequeueNote } from "./erasure/remote/requeue.ts";
export {
  ResolverError,
  type AnyResolver,
  type RectifyingResolver,
  type Resolver,
  type ResolverCall,
  type ResolverErasure,
  type ResolverExpiry,
  type ResolverRectification,
  type RetentionOnlyResolver,
  type VerifyingResolver,
} from "./erasure/remote/resolver.ts";
export { type StatusCounts, type StatusCountsSource } from "./erasure/remote/status-counts.ts";
export { ConfigurationError, RetryLater } from "./core/errors.ts";
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
export {
  type StripeAddress,
  type StripeClient,
  type StripeCustomer,
  type StripeField,
} from "./resolvers/stripe-client.ts";
