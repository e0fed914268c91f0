/** What an Amends can be told. */
import type { Duration } from "../core/duration.ts";
import type { AnyHandler } from "../events/define/handler.ts";
import type { AnySagaDef } from "../events/define/saga-def.ts";
import type { Middleware } from "../sagas/engine/call.ts";
import type { SagaStorage } from "../contract/contract.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import type { WebhooksOptions } from "../webhooks/settings.ts";
import type { Tracer } from "../runtime/trace.ts";
import type { Logger } from "./logger.ts";

/** A saga has stalled: labels only, safe to send to whoever is on call. */
export interface StalledSignal {
  readonly id: string;
  readonly saga: string;
  readonly step: string | undefined;
  readonly reason: string;
}

export interface CommonOptions {
  /** The sagas that this process knows. */
  readonly sagas?: readonly AnySaga[];
  /** Wraps every act and every undo, in recovery too. The first one is the outermost. */
  readonly middleware?: readonly Middleware[];
  readonly logger?: Logger;
  /** Spans for all that is done: `tracing()` of `amends/opentelemetry`. */
  readonly tracing?: Tracer;
  /** How long a worker that vanished keeps its sagas. 60 seconds unless said otherwise. */
  readonly lease?: Duration;
  /**
   * How long a call whose time is over may still take to return. What it answers in that time counts; after it, the try
   * counts as failed, and nothing is undone before the call has returned. Default: 10s.
   */
  readonly grace?: Duration;
  /** Codes of your own errors that may be stored as their labels. */
  readonly errorCodes?: readonly string[];
  /** Called after a saga has stalled, durably. What it throws is logged and otherwise ignored. */
  readonly onStalled?: (signal: StalledSignal) => unknown;
}

export interface DatabaseOptions<Tx> extends CommonOptions {
  readonly database: Database<Tx>;
  /** How webhooks are delivered, and where they may go. */
  readonly webhooks?: WebhooksOptions;
  /** The event handlers that this process knows; those of `eventSagas` need not be repeated. */
  readonly handlers?: readonly AnyHandler[];
  /** The sagas over events that this process knows. */
  readonly eventSagas?: readonly AnySagaDef[];
  readonly storage?: never;
}

/** Sagas in a storage of your own: everything but transactions, emitted events and lists works. */
export interface StorageOptions extends CommonOptions {
  readonly storage: SagaStorage;
  /** For tests: a virtual clock from `amends/testing`. */
  readonly clock?: Clock;
  readonly database?: never;
  readonly webhooks?: never;
}

export interface StartOptions<Tx> {
  /** The same id again, with the same input, is the same saga. A new one is made where none is given. */
  readonly id?: string;
  /** Your own open transaction: the saga exists exactly if it commits. */
  readonly tx?: Tx;
}

export const OPTIONS: readonly string[] = [
  "database",
  "storage",
  "clock",
  "sagas",
  "handlers",
  "eventSagas",
  "middleware",
  "logger",
  "tracing",
  "lease",
  "grace",
  "errorCodes",
  "onStalled",
  "webhooks",
];
