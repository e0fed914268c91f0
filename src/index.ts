/** Amends: sagas that finish, or make amends. */
export {
  Amends,
  type DatabaseOptions,
  type StalledSignal,
  type StartOptions,
  type StorageOptions,
} from "./operate/amends.ts";
export { type AttentionItem, type AttentionPage, type StalledSaga } from "./operate/attention.ts";
export { type DeadLetterItem, type DisabledItem } from "./webhooks/attention.ts";
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
} from "./sagas/definition.ts";
export { type Middleware, type StepCall } from "./sagas/call.ts";
export { SagaRun, type StepNews, type WaitOptions } from "./sagas/handle.ts";
export { type OperatorNote, type SagaAction, type SkipNote } from "./sagas/operators.ts";
export { type SagaFailure, type SagaOutcome, type UndoFailure } from "./sagas/outcome.ts";
export { type SagaView, type TimelineEntry } from "./sagas/view.ts";
export { runDiagram } from "./sagas/run-diagram.ts";
export { sagaDiagram } from "./sagas/saga-diagram.ts";
export {
  mayBecome,
  type SagaContext,
  type SagaLogEntry,
  type SagaOperations,
  type SagaStorage,
  type SagaStorageRun,
  type StoredSagaState,
} from "./sagas/contract.ts";
export { SqlSagaStorage } from "./sagas/sql-storage.ts";
export { type SagaStatus } from "./core/saga/machine.ts";
export { AmendsError, SagaConcurrencyError, Terminal, type ErrorCode } from "./core/errors.ts";
export { type Duration } from "./core/duration.ts";
export { type Stored } from "./core/json.ts";
export { err, ok, type Err, type Ok, type Result } from "./core/result.ts";
export { type Clock } from "./storage/clock.ts";
export { type Database } from "./storage/database.ts";
