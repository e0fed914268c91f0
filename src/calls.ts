/** Durable calls through the outbox: enqueued in a transaction, made at least once, retried until they succeed. */
export { Calls, type AbandonedCall, type CallPage, type CallsOptions } from "./outbox/calls/calls.ts";
export { type EnqueueOptions, type QueuedCall } from "./outbox/calls/enqueue.ts";
export {
  defineCall,
  type CallContext,
  type CallDefinition,
  type CallOptions,
} from "./outbox/calls/definition.ts";
export { type ConcurrencyLimit, type LimitOptions, type RateLimit } from "./core/start/limits.ts";
export { type CallEntry } from "./outbox/calls/entry.ts";
export { type PageOptions } from "./outbox/read/entry-page.ts";
export { type Verification } from "./core/outbox/entry.ts";
export { type OutboxStatus } from "./core/outbox/machine.ts";
