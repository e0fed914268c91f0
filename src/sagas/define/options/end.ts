/** What may be said of what follows the end of a saga, as the compiler sees it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { RetryOptions } from "../../../core/backoff.ts";
import type { Duration } from "../../../core/duration.ts";
import type { CallDefinition } from "../../../outbox/calls/definition.ts";
import type { SagaFailure } from "../../view/outcome.ts";
import type { TransactionKind } from "../transaction-kind.ts";
import type { ListContext } from "./each.ts";

/** What is known of a saga that has completed. */
export interface CompletedContext<Input, Results> extends ListContext<Input, Results> {}

/** What is known of a saga that has failed, after everything was undone. */
export interface FailedContext<Input, Results, Failure> extends ListContext<Input, Partial<Results>> {
  /** Why it failed. */
  readonly failure: SagaFailure<Failure>;
  /** The step that failed; undefined if none did. */
  readonly step: string | undefined;
}

/** What is known of a completed saga that was taken back, after everything was undone. */
export interface ReversedContext<Input, Results> extends ListContext<Input, Results> {}

/** What is known of a saga that needs an operator. */
export interface StalledContext<Input, Results> extends ListContext<Input, Partial<Results>> {
  /** Why it is stalled, in words. */
  readonly reason: string;
  /** The step at which it is stalled; undefined if it is none. */
  readonly step: string | undefined;
}

/** What a function in the transaction of the end receives besides. */
export interface InTransaction<Tx> {
  /** The open transaction. The end of the saga commits together with what is written in it. */
  readonly tx: Tx;
  /** The idempotency key. */
  readonly key: string;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** Aborts on a timeout and on shutdown. */
  readonly signal: AbortSignal;
}

/** A function in the transaction that ends the saga. While it throws, the saga has not ended; exhausted, the saga is STALLED. */
export interface EndInTransaction<Context, Tx> {
  /** The kind of transaction, as for a transactional step. */
  readonly transaction: TransactionKind<Tx>;
  /** Writes through `tx` what belongs to the end. An `err` stalls the saga. */
  act(context: Context & InTransaction<Tx>): unknown;
  /** The number of attempts, and the waits between them. Default: `retry` of the saga. */
  readonly retry?: RetryOptions;
  /** The timeout of one attempt. Default: none. */
  readonly timeout?: Duration;
}

/** A durable call that the commit of the end puts into the outbox. */
export interface EndCall<Context, Schema extends StandardSchemaV1> {
  /** The call, made by `defineCall`. A process that has it in `calls` makes it. */
  readonly call: CallDefinition<Schema>;
  /** Returns the input of the call. While it throws, the saga has not ended; exhausted, the saga is STALLED. */
  input(context: Context): StandardSchemaV1.InferInput<Schema> | Promise<StandardSchemaV1.InferInput<Schema>>;
}

/** A durable call that the commit of a stall puts into the outbox. */
export interface StalledCall<Context, Schema extends StandardSchemaV1> {
  /** The call, made by `defineCall`. A process that has it in `calls` makes it. */
  readonly call: CallDefinition<Schema>;
  /** Returns the input of the call at once, not as a promise. If it throws, the saga is stalled without the call, and a warning is logged. */
  input(context: Context): StandardSchemaV1.InferInput<Schema>;
}
