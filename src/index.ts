/**
 * Amends: sagas that finish, or make amends. These are the names that an application meets first; the names that only
 * one part uses are exported by the entry of that part.
 */
export { Amends } from "./operate/amends.ts";
export { type DatabaseOptions, type StalledSignal, type StartOptions } from "./operate/amends-options.ts";
export { Worker, type StopOptions, type WorkerOptions } from "./operate/worker.ts";
export { type WorkerReadiness } from "./operate/health/readiness.ts";
export { type Logger } from "./operate/log/logger.ts";
export { saga, type AnySaga, type SagaDefinition } from "./sagas/define/definition.ts";
export { type Saga } from "./sagas/define/builder.ts";
export {
  type ActContext,
  type PivotOptions,
  type StepOptions,
  type UndoContext,
} from "./sagas/define/options/step.ts";
export { type SagaOptions } from "./sagas/define/saga-options.ts";
export { sagaRef, type SagaReference } from "./sagas/define/reference.ts";
export { signal, type SignalType } from "./sagas/define/signal.ts";
export { type SignalOptions } from "./sagas/journal/signals.ts";
export { type Middleware, type StepCall } from "./sagas/engine/call.ts";
export { SagaRun, type StepNews, type WaitOptions } from "./sagas/view/handle.ts";
export { type OperatorNote } from "./sagas/view/operators.ts";
export { type SagaFailure, type SagaOutcome } from "./sagas/view/outcome.ts";
export { type SagaView } from "./sagas/view/view.ts";
export { type SagaStatus } from "./core/saga/machine.ts";
export { AmendsError, RetryLater, Terminal, type ErrorCode } from "./core/errors.ts";
export { type Duration } from "./core/duration.ts";
export { type RetryOptions } from "./core/backoff.ts";
export { err, ok, type Err, type Ok, type Result } from "./core/result.ts";
export { type Database } from "./storage/database.ts";

// Declarations that are made from an inferred type, as with `declaration: true`, name types through the entries that the
// compiler has read. These lines make it read the entries of the parts.
export type {} from "./attention.ts";
export type {} from "./audit.ts";
export type {} from "./bulk.ts";
export type {} from "./calls.ts";
export type {} from "./erasure.ts";
export type {} from "./events.ts";
export type {} from "./retention.ts";
export type {} from "./sagas.ts";
export type {} from "./schedules.ts";
export type {} from "./serverless.ts";
export type {} from "./sqlite.ts";
export type {} from "./storage.ts";
export type {} from "./webhooks.ts";
