/**
 * The typed builder of sagas. What a step returns is typed into the steps after it and into its own compensation;
 * a name that is taken and a compensation after the pivot do not compile. Whatever the compiler cannot see is
 * checked here, when the saga is defined.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";
import type { Stored } from "../../core/json.ts";
import type { Err, Ok } from "../../core/result.ts";
import type { RetryOptions } from "../../core/backoff.ts";
import type { Plan } from "../../core/saga/plan.ts";
import type { FallbackTerms } from "./fallback-options.ts";
import { readStepAndFallback } from "./fallback-steps.ts";
import { readSagaOptions, type SagaSettings, type StepDefinition } from "./settings.ts";
import { isSchema } from "./signal.ts";
import type { ForwardGroup, ParallelOptions, StepGroup, Together } from "./parallel-options.ts";
import { readParallel } from "./parallel-steps.ts";
import type { TransactionKind } from "./transaction-kind.ts";
import type { EventWait, ForwardLimit, MatchField, OnTimeout, SignalWait, Waited } from "./wait-options.ts";
import { readSleep, readWaitFor } from "./wait-steps.ts";

/** An event that a step emits. It is committed together with the step's outcome. */
export interface EmittedEvent {
  /** The name of the event type. */
  readonly type: string;
  /** The data of the event: anything that JSON can hold. */
  readonly data?: unknown;
}

interface CallContext<Input, Results, Tx> {
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
export interface ActContext<Input, Results, Tx = undefined> extends CallContext<Input, Results, Tx> {}

/** What a compensation receives. */
export interface UndoContext<Input, Results, Value, Tx = undefined> extends CallContext<Input, Results, Tx> {
  /** What the act returned; undefined if it is in doubt whether the act happened. */
  readonly result: Value | undefined;
  /** The idempotency key of the act. Undo by this key if there is no result. */
  readonly actKey: string;
}

export interface Acting<Input, Results, Value, Tx = undefined> {
  /**
   * Does the work of the step and returns its result, `ok(result)` or `err(failure)`. A thrown error is retried;
   * `Terminal` is not.
   */
  act(context: ActContext<Input, Results, Tx>): Value;
  /** The number of attempts of an act that throws, and the waits between them. Default: `retry` of the saga. */
  readonly retry?: RetryOptions;
  /** The timeout of one attempt: then its signal aborts, and the attempt counts as failed. Default: none. */
  readonly timeout?: Duration;
}

interface StepBasics<Input, Results, Value, Tx> extends Acting<Input, Results, Value, Tx> {
  /**
   * Runs the act in a transaction that commits together with the step's checkpoint, exactly once. Default: no
   * transaction.
   */
  readonly transaction?: TransactionKind<Tx>;
}

export interface Undoable<Input, Results, Value, Tx = undefined> {
  /** Undoes what the act did or may have done. It may be called again, always with the same key. */
  compensate?(context: UndoContext<Input, Partial<Results>, ValueOf<Value>, Tx>): unknown;
  /**
   * The number of attempts of a compensation that throws, and the waits between them. Default: `compensateRetry` of the
   * saga.
   */
  readonly compensateRetry?: RetryOptions;
  /** How long all attempts of the act may take together: after that the saga compensates. Default: none. */
  readonly deadline?: Duration;
}

/** The options of a step before the pivot. */
export interface StepOptions<Input, Results, Value, Tx>
  extends StepBasics<Input, Results, Value, Tx>, Undoable<Input, Results, Value, Tx> {
  /** Also compensates the step if its act returned `err`. Default: false. */
  readonly undoOnErr?: boolean;
}

/**
 * The options of the pivot, the point of no return. Its compensation is called only if the pivot itself did not
 * succeed.
 */
export interface PivotOptions<Input, Results, Value, Tx>
  extends StepBasics<Input, Results, Value, Tx>, Undoable<Input, Results, Value, Tx> {}

/** The options that a step after the pivot cannot have, because the saga only goes forward. */
export interface ForwardOnly {
  /** Not allowed: there is no compensation after the pivot. */
  readonly compensate?: "After the pivot a saga only goes forward: there is nothing to compensate.";
  /** Not allowed: no deadline makes the saga compensate after the pivot. */
  readonly deadline?: "After the pivot a saga only goes forward: no deadline can turn it back.";
}

/** The options of a step after the pivot. */
export interface ForwardOptions<Input, Results, Value, Tx>
  extends StepBasics<Input, Results, Value, Tx>, ForwardOnly {}

/**
 * The fallback of a step: another step that runs if this one fails permanently, with its own name, keys and attempts.
 * The possible effects of the failed step are undone first. The result of the fallback becomes the result of the step.
 */
export interface WithFallback<Options, Name> {
  /** The fallback. Default: none; the saga compensates, or stalls after the pivot. */
  readonly fallback?: Options & FallbackTerms<Name>;
}

/** What a step's act is worth to later steps: the value of an `ok`, or whatever else was returned, as stored. */
export type ValueOf<Returned> = Stored<OkValue<Awaited<Returned>>>;

type OkValue<Value> =
  Value extends Ok<infer T> ? T : Value extends Err<unknown> ? never : Value extends void ? undefined : Value;

/** What a step's `err` carries. */
export type FailureOf<Returned> = ErrValue<Awaited<Returned>>;

type ErrValue<Value> = Value extends Err<infer E> ? Stored<E> : never;

export type Fresh<Name extends string, Results> = Name extends keyof Results
  ? { readonly error: `There is already a step named "${Name}"` }
  : Name;

/** The name of a fallback differs from that of its step, too. */
type Distinct<Name extends string, Step extends string, Results> = Name &
  Fresh<Name, Results & Record<Step, unknown>>;

/** The results of the steps so far, and that of one more step. */
export type With<Results, Name extends string, Value> = {
  readonly [K in keyof Results | Name]: K extends keyof Results ? Results[K] : ValueOf<Value>;
};

// oxlint-disable-next-line typescript/ban-types
/** The results of a saga without steps. */
export type NoResults = {};

/** A saga definition. Register it in `sagas` of `new Amends`, and start it with `amends.start`. */
export interface SagaDefinition<Input = unknown, Output = unknown, Results = unknown, Failure = unknown> {
  /** The name of the saga, under which runs are stored. */
  readonly name: string;
  /** The version of the definition. */
  readonly version: number;
  /** The schema of the input. */
  readonly schema: StandardSchemaV1<Input, Output>;
  /** The steps, in order. */
  readonly steps: readonly StepDefinition[];
  /**
   * The shape of the steps as it is stored with every saga. A saga whose stored plan no longer fits its definition
   * stalls.
   */
  readonly plan: Plan;
  /** The checked options. */
  readonly settings: SagaSettings;
  /** Only for the compiler. */
  readonly types?: { readonly results: Results; readonly failure: Failure };
}

/** Any saga, whatever its types. */
export type AnySaga = SagaDefinition;

/** A saga definition to which steps can be added, before its pivot. */
export interface Saga<Input, Output, Results, Failure> extends SagaDefinition<
  Input,
  Output,
  Results,
  Failure
> {
  /** Adds a step. Steps run in the order in which they are added. */
  step<
    const Name extends string,
    Value,
    Tx = undefined,
    const OtherName extends string = never,
    OtherValue = never,
    OtherTx = undefined,
  >(
    name: Name & Fresh<Name, Results>,
    options: StepOptions<Stored<Output>, Results, Value, Tx> &
      WithFallback<
        StepOptions<Stored<Output>, Results, OtherValue, OtherTx>,
        Distinct<OtherName, Name, Results>
      >,
  ): Saga<
    Input,
    Output,
    With<Results, Name, Value | OtherValue>,
    Failure | FailureOf<Value> | FailureOf<OtherValue>
  >;
  /** Adds the point of no return: once it has succeeded, the saga only goes forward. */
  pivot<
    const Name extends string,
    Value,
    Tx = undefined,
    const OtherName extends string = never,
    OtherValue = never,
    OtherTx = undefined,
  >(
    name: Name & Fresh<Name, Results>,
    options: PivotOptions<Stored<Output>, Results, Value, Tx> &
      WithFallback<
        PivotOptions<Stored<Output>, Results, OtherValue, OtherTx>,
        Distinct<OtherName, Name, Results>
      >,
  ): ForwardSaga<
    Input,
    Output,
    With<Results, Name, Value | OtherValue>,
    Failure | FailureOf<Value> | FailureOf<OtherValue>
  >;
  /** Adds steps that run in parallel. They do not see one another's results; the steps after them see all. */
  parallel<const Name extends string, Added, Failed>(
    name: Name & Fresh<Name, Results>,
    steps: (
      group: StepGroup<Stored<Output>, Results, NoResults, never>,
    ) => StepGroup<Stored<Output>, Results, Added, Failed>,
    options?: ParallelOptions,
  ): Saga<Input, Output, Together<Results, Added>, Failure | Failed>;
  /** Adds a step that waits for this duration. The wait is durable and holds no worker slot. */
  sleep<const Name extends string>(
    name: Name & Fresh<Name, Results>,
    duration: Duration,
  ): Saga<Input, Output, With<Results, Name, undefined>, Failure>;
  /** Adds a step that waits until `amends.signal` sends this signal. The payload of the signal is the step's result. */
  waitFor<const Name extends string, Payload, const End extends OnTimeout = "compensate">(
    name: Name & Fresh<Name, Results>,
    options: SignalWait<Payload, End>,
  ): Saga<Input, Output, With<Results, Name, Waited<Payload, End>>, Failure>;
  /** Adds a step that waits until a matching event is published. The data of the event is the step's result. */
  waitFor<
    const Name extends string,
    Data,
    const Field extends MatchField<Data>,
    const End extends OnTimeout = "compensate",
  >(
    name: Name & Fresh<Name, Results>,
    options: EventWait<Stored<Output>, Data, Field, End>,
  ): Saga<Input, Output, With<Results, Name, Waited<Data, End>>, Failure>;
}

/** A saga definition after its pivot: further steps only go forward. */
export interface ForwardSaga<Input, Output, Results, Failure> extends SagaDefinition<
  Input,
  Output,
  Results,
  Failure
> {
  /** Adds a step that only goes forward: if it fails permanently, the saga stalls until an operator decides. */
  step<
    const Name extends string,
    Value,
    Tx = undefined,
    const OtherName extends string = never,
    OtherValue = never,
    OtherTx = undefined,
  >(
    name: Name & Fresh<Name, Results>,
    options: ForwardOptions<Stored<Output>, Results, Value, Tx> &
      WithFallback<
        ForwardOptions<Stored<Output>, Results, OtherValue, OtherTx>,
        Distinct<OtherName, Name, Results>
      >,
  ): ForwardSaga<
    Input,
    Output,
    With<Results, Name, Value | OtherValue>,
    Failure | FailureOf<Value> | FailureOf<OtherValue>
  >;
  /**
   * Adds steps that run in parallel and only go forward: if one fails permanently, the saga stalls until an operator
   * decides.
   */
  parallel<const Name extends string, Added, Failed>(
    name: Name & Fresh<Name, Results>,
    steps: (
      group: ForwardGroup<Stored<Output>, Results, NoResults, never>,
    ) => ForwardGroup<Stored<Output>, Results, Added, Failed>,
    options?: ParallelOptions,
  ): ForwardSaga<Input, Output, Together<Results, Added>, Failure | Failed>;
  /** Adds a step that waits for this duration. The wait is durable and holds no worker slot. */
  sleep<const Name extends string>(
    name: Name & Fresh<Name, Results>,
    duration: Duration,
  ): ForwardSaga<Input, Output, With<Results, Name, undefined>, Failure>;
  /** Adds a step that waits until `amends.signal` sends this signal. The payload of the signal is the step's result. */
  waitFor<const Name extends string, Payload, const End extends OnTimeout = "compensate">(
    name: Name & Fresh<Name, Results>,
    options: SignalWait<Payload, End> & ForwardLimit<End>,
  ): ForwardSaga<Input, Output, With<Results, Name, Waited<Payload, End>>, Failure>;
  /** Adds a step that waits until a matching event is published. The data of the event is the step's result. */
  waitFor<
    const Name extends string,
    Data,
    const Field extends MatchField<Data>,
    const End extends OnTimeout = "compensate",
  >(
    name: Name & Fresh<Name, Results>,
    options: EventWait<Stored<Output>, Data, Field, End> & ForwardLimit<End>,
  ): ForwardSaga<Input, Output, With<Results, Name, Waited<Data, End>>, Failure>;
}

/** The options of `saga`. */
export interface SagaOptions {
  /**
   * The version of the definition. A saga keeps the version that it started with: register old and new versions
   * together until the old sagas have ended. Default: 1.
   */
  readonly version?: number;
  /** How long the saga may take until its pivot: after that it compensates. Default: none. */
  readonly deadline?: Duration;
  /** The retry schedule of acts without one of their own. Default: 8 attempts, from 1s up to 1h. */
  readonly retry?: RetryOptions;
  /** The retry schedule of compensations without one of their own. Default: 8 attempts, from 1s up to 1h. */
  readonly compensateRetry?: RetryOptions;
  /** How often the saga may lose its worker without making progress before it stalls. Default: 5. */
  readonly recoveries?: number;
  /**
   * Also stores the messages of thrown errors, which may hold personal data. Default: `keepMessages` of `new Amends`.
   */
  readonly keepMessages?: boolean;
}

/**
 * Defines a saga by a name and a schema for its input, from any Standard Schema library. Add its steps to the result.
 * Throws `BAD_DEFINITION` if the definition is not valid.
 */
export function saga<Input, Output>(
  name: string,
  schema: StandardSchemaV1<Input, Output>,
  options: SagaOptions = {},
): Saga<Input, Output, NoResults, never> {
  checkName(name, "A saga's name");
  if (!isSchema(schema)) {
    throw new AmendsError(
      "BAD_DEFINITION",
      `Saga ${name} needs a schema for its input from a Standard Schema library, such as Zod, Valibot or ArkType.`,
    );
  }
  const settings = readSagaOptions(name, options);
  // The types say more than the values do: from here on only the compiler knows what each step returns.
  return build(name, settings, schema, []) as unknown as Saga<Input, Output, NoResults, never>;
}

function build(
  name: string,
  settings: SagaSettings,
  schema: AnySaga["schema"],
  steps: readonly StepDefinition[],
): AnySaga {
  const add = (...more: readonly StepDefinition[]): AnySaga =>
    build(name, settings, schema, [...steps, ...more]);
  const read = (stepName: string, options: unknown, pivot: boolean): readonly StepDefinition[] =>
    readStepAndFallback(name, settings, steps, stepName, options, pivot);
  const place = { saga: name, settings, before: steps };
  const definition = {
    name,
    version: settings.version,
    schema,
    settings,
    steps,
    plan: steps.map((step) => step.planned),
    step: (stepName: string, options: unknown) => add(...read(stepName, options, false)),
    pivot: (stepName: string, options: unknown) => add(...read(stepName, options, true)),
    parallel: (groupName: string, group: unknown, options?: ParallelOptions) =>
      add(...readParallel(place, groupName, group, options)),
    sleep: (stepName: string, duration: Duration) => add(readSleep(place, stepName, duration)),
    waitFor: (stepName: string, options: unknown) => add(readWaitFor(place, stepName, options)),
  };
  return definition;
}
