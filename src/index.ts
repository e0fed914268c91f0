/** Amends: sagas that finish, or make amends. */
export { Amends } from "./operate/amends.ts";
export {
  type DatabaseOptions,
  type StalledSignal,
  type StartOptions,
  type StorageOptions,
} from "./operate/amends-options.ts";
export {
  type AbandonedCallItem,
  type AbandonedEntryItem,
  type AbandonedEventItem,
  type AttentionAction,
  type AttentionFacts,
  type AttentionItem,
  type AttentionKind,
  type DeadLetterItem,
  type DisabledSubscriptionItem,
  type OverdueErasureItem,
  type StalledRunItem,
  type StalledSagaItem,
} from "./attention/item.ts";
export { type AttentionCounts } from "./attention/count.ts";
export { type AttentionOptions, type AttentionPage } from "./attention/list.ts";
export { type Count } from "./core/count.ts";
export { type Page } from "./core/cursor.ts";
export { Webhooks, type NewSubscription, type SubscribeSettings } from "./webhooks/webhooks.ts";
export { type DisabledSignal, type WebhooksOptions } from "./webhooks/settings.ts";
export { type Published, type WebhookEvent } from "./webhooks/publishing.ts";
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
export { type MigrateOptions } from "./storage/migrations/migrate.ts";
export { type Logger } from "./operate/logger.ts";
export { type ArchivedSaga } from "./sagas/retention/archive.ts";
export { Retention, type RetentionOptions } from "./operate/retention.ts";
export {
  type EndedPolicy,
  type OutboxPolicy,
  type RetentionPolicy,
  type SagaPolicy,
} from "./operate/retention-policy.ts";
export { Worker, type StopOptions, type WorkerOptions } from "./operate/worker.ts";
export {
  saga,
  type ActContext,
  type AnySaga,
  type EmittedEvent,
  type ForwardOptions,
  type ForwardSaga,
  type PivotOptions,
  type RetryOptions,
  type Saga,
  type SagaDefinition,
  type SagaOptions,
  type StepOptions,
  type TransactionKind,
  type UndoContext,
  type WithFallback,
} from "./sagas/define/definition.ts";
export {
  type ForwardGroup,
  type ForwardMemberOptions,
  type MemberOptions,
  type ParallelOptions,
  type StepGroup,
} from "./sagas/define/parallel-options.ts";
export {
  type BreakerOptions,
  type FailureFilter,
  type FallbackTerms,
} from "./sagas/define/fallback-options.ts";
export { signal, type AnySignal, type SignalType } from "./sagas/define/signal.ts";
export { type SignalOptions } from "./sagas/journal/signals.ts";
export {
  type AwaitedEvent,
  type EventWait,
  type MatchField,
  type OnTimeout,
  type SignalWait,
} from "./sagas/define/wait-options.ts";
export { type Middleware, type StepCall } from "./sagas/engine/call.ts";
export { SagaRun, type StepNews, type WaitOptions } from "./sagas/view/handle.ts";
export { type OperatorNote, type SagaAction, type SagaNote, type SkipNote } from "./sagas/view/operators.ts";
export { type SagaFailure, type SagaOutcome, type UndoFailure } from "./sagas/view/outcome.ts";
export { type SagaView, type TimelineEntry, type Waiting } from "./sagas/view/view.ts";
export { runDiagram } from "./sagas/view/run-diagram.ts";
export { sagaDiagram } from "./sagas/view/definition-diagram.ts";
export {
  mayBecome,
  type SagaContext,
  type SagaLogEntry,
  type SagaOperations,
  type SagaStorage,
  type SagaStorageRun,
  type StoredSagaState,
} from "./contract/contract.ts";
export { SqlSagaStorage } from "./contract/sql-storage.ts";
export {
  Outbox,
  type ClaimOptions,
  type FailedOptions,
  type OutboxOptions,
  type SucceededOptions,
} from "./erasure/remote/outbox.ts";
export { BackoffPolicy, type BackoffOptions, type BackoffSettings } from "./outbox/backoff-policy.ts";
export { Calls, type AbandonedCall, type CallPage, type CallsOptions } from "./outbox/calls.ts";
export {
  defineCall,
  type CallContext,
  type CallDefinition,
  type CallOptions,
} from "./outbox/call-definition.ts";
export { type CallEntry } from "./outbox/call-row.ts";
export { type EntryPage, type PageOptions } from "./outbox/read/entry-page.ts";
export { ResolverRegistry } from "./erasure/remote/registry.ts";
export { SagaRunner, type SagaRunnerOptions } from "./erasure/remote/runner.ts";
export { type AbandonedHook, type AbandonedSignal } from "./erasure/remote/abandoned.ts";
export { type RequeueNote } from "./erasure/remote/requeue.ts";
export {
  ResolverError,
  RetryLater,
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
export { type AuditEvent, type AuditType, type NewAuditEvent, type Scalar } from "./audit/event.ts";
export { type AnySink, type AuditSink, type KeyedAuditEvent, type TransactionalSink } from "./audit/sink.ts";
export { type ChainHead, type ChainOptions } from "./audit/chain.ts";
export { DatabaseAuditSink, type DatabaseAuditOptions } from "./audit/database-sink.ts";
export { AuditTrail, type TrailOptions, type TrailPage } from "./audit/trail.ts";
export {
  auditHead,
  verifyAuditChain,
  type BreakReason,
  type ChainReport,
  type VerifyOptions,
} from "./audit/verify.ts";
export {
  type Correction,
  type CorrectedValue,
  type NewOutboxEntry,
  type OutboxEntry,
  type OutboxOperation,
  type SubjectRef,
} from "./core/outbox/entry.ts";
export { type OutboxStatus } from "./core/outbox/machine.ts";
export { type SagaStatus } from "./core/saga/machine.ts";
export {
  AmendsError,
  ConfigurationError,
  SagaConcurrencyError,
  Terminal,
  type ErrorCode,
} from "./core/errors.ts";
export { type Duration } from "./core/duration.ts";
export { type Stored } from "./core/json.ts";
export { err, ok, type Err, type Ok, type Result } from "./core/result.ts";
export { type Clock } from "./storage/clock.ts";
export { type Database } from "./storage/database.ts";
