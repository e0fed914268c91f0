/** What a step gets, and what may be said of it, as the compiler sees it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { RetryOptions } from "../../../core/backoff.ts";
import type { Duration } from "../../../core/duration.ts";
import type { ValueOf } from "../results.ts";
import type { TransactionKind } from "../transaction-kind.ts";
import type { FallbackTerms } from "./fallback.ts";
import type { JsonProgress, Progressing, ProgressOption } from "./progress.ts";

/** An event that a step emits. It is committed together with the step's outcome. */
export interface EmittedEvent {
  /** The name of the event type. */
  readonly type: string;
  /** The data of the event: anything that JSON can hold. */
  readonly data?: unknown;
}

export interface CallContext<
  Input,
  Results,
  Tx,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends Progressing<Tx, Progress> {
  /** The id of the saga. */
  readonly sagaId: string;
  /** The input of the saga, as its schema returned it and JSON stored it. */
  readonly input: Input;
  /** The results of the steps before, by step name. */
  readonly results: Results;
  /**
   * The idempotency key: the same over retries and restarts, distinct per saga, step and direction. Pass it on to the
   * systems that you call.
   */
  readonly key: string;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** Aborts on a timeout, on a cancellation of the saga and on shutdown. */
  readonly signal: AbortSignal;
  /** The open transaction of a step with the option `transaction`; otherwise undefined. */
  readonly tx: Tx;
  /** Publishes an event in the commit that records this step's outcome, or not at all. */
  emit(event: EmittedEvent): void;
}

/** What an act receives. */
export interface ActContext<
  Input,
  Results,
  Tx = undefined,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends CallContext<Input, Results, Tx, Progress> {}

/** What a compensation receives. */
export interface UndoContext<
  Input,
  Results,
  Value,
  Tx = undefined,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends CallContext<Input, Results, Tx, Progress> {
  /** What the act returned; undefined if it is in doubt whether the act happened. */
  readonly result: Value | undefined;
  /** The idempotency key of the act. Undo by this key if there is no result. */
  readonly actKey: string;
}

export interface Acting<
  Input,
  Results,
  Value,
  Tx = undefined,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends ProgressOption<Progress> {
  /**
   * Does the work of the step and returns its result, `ok(result)` or `err(failure)`. A thrown error is retried;
   * `Terminal` is not.
   */
  act(context: ActContext<Input, Results, Tx, Progress>): Value;
  /** The number of attempts of an act that throws, and the waits between them. Default: `retry` of the saga. */
  readonly retry?: RetryOptions;
  /** The timeout of one attempt: then its signal aborts, and the attempt counts as failed. Default: none. */
  readonly timeout?: Duration;
}

interface StepBasics<Input, Results, Value, Tx, Progress extends StandardSchemaV1> extends Acting<
  Input,
  Results,
  Value,
  Tx,
  Progress
> {
  /**
   * Runs the act in a transaction that commits together with the step's checkpoint, exactly once. Default: no
   * transaction.
   */
  readonly transaction?: TransactionKind<Tx>;
}

export interface Undoable<
  Input,
  Results,
  Value,
  Tx = undefined,
  Progress extends StandardSchemaV1 = JsonProgress,
> {
  /** Undoes what the act did or may have done. It may be called again, always with the same key. */
  compensate?(context: UndoContext<Input, Partial<Results>, ValueOf<Value>, Tx, Progress>): unknown;
  /**
   * The number of attempts of a compensation that throws, and the waits between them. Default: `compensateRetry` of the
   * saga.
   */
  readonly compensateRetry?: RetryOptions;
  /** How long all attempts of the act may take together: after that the saga compensates. Default: none. */
  readonly deadline?: Duration;
}

/** The options of a step before the pivot. */
export interface StepOptions<Input, Results, Value, Tx, Progress extends StandardSchemaV1 = JsonProgress>
  extends StepBasics<Input, Results, Value, Tx, Progress>, Undoable<Input, Results, Value, Tx, Progress> {
  /** Also compensates the step if its act returned `err`. Default: false. */
  readonly undoOnErr?: boolean;
}

/**
 * The options of the pivot, the point of no return. Its compensation is called only if the pivot itself did not
 * succeed.
 */
export interface PivotOptions<Input, Results, Value, Tx, Progress extends StandardSchemaV1 = JsonProgress>
  extends StepBasics<Input, Results, Value, Tx, Progress>, Undoable<Input, Results, Value, Tx, Progress> {}

/** The options that a step after the pivot cannot have, because the saga only goes forward. */
export interface ForwardOnly {
  /** Not allowed: there is no compensation after the pivot. */
  readonly compensate?: "After the pivot a saga only goes forward: there is nothing to compensate.";
  /** Not allowed: no deadline makes the saga compensate after the pivot. */
  readonly deadline?: "After the pivot a saga only goes forward: no deadline can turn it back.";
}

/** The options of a step after the pivot. */
export interface ForwardOptions<Input, Results, Value, Tx, Progress extends StandardSchemaV1 = JsonProgress>
  extends StepBasics<Input, Results, Value, Tx, Progress>, ForwardOnly {}

/**
 * The fallback of a step: another step that runs if this one fails permanently, with its own name, keys and attempts.
 * The possible effects of the failed step are undone first. The result of the fallback becomes the result of the step.
 */
export interface WithFallback<Options, Name> {
  /** The fallback. Default: none; the saga compensates, or stalls after the pivot. */
  readonly fallback?: Options & FallbackTerms<Name>;
}
