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
import type { EventWait, ForwardLimit, MatchField, OnTimeout, SignalWait, Waited } from "./wait-options.ts";
import { readSleep, readWaitFor } from "./wait-steps.ts";

/** An event that a step sends out, durable together with the step. */
export interface EmittedEvent {
  /** The name of the event's type. */
  readonly type: string;
  /** The data of the event. */
  readonly data?: unknown;
}

interface CallContext<Input, Results, Tx> {
  /** The saga's id. */
  readonly sagaId: string;
  /** What the saga was started with, after its schema. */
  readonly input: Input;
  /** What the steps before returned, by their names. */
  readonly results: Results;
  /** Stable over retries and restarts, distinct per saga, step and direction: pass it on as the idempotency key. */
  readonly key: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** Fires when the call's time is up, the saga is cancelled, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** The open transaction of a transactional step. */
  readonly tx: Tx;
  /** Puts an event into the outbox together with this step's outcome, or not at all. */
  emit(event: EmittedEvent): void;
}

/** What an act gets. */
export interface ActContext<Input, Results, Tx = undefined> extends CallContext<Input, Results, Tx> {}

/** What an undo gets. */
export interface UndoContext<Input, Results, Value, Tx = undefined> extends CallContext<Input, Results, Tx> {
  /** What the act returned, or undefined where it is not known whether the act happened. */
  readonly result: Value | undefined;
  /** The key that the act was called with: undo by it where there is no result. */
  readonly actKey: string;
}

/** Which kind of transaction a transactional step runs in: exported by the database's entry. */
export interface TransactionKind<Tx> {
  /** The database that the transaction belongs to. */
  readonly dialect: "postgres" | "sqlite";
  /** Never set: it carries the type of `tx`. */
  readonly tx?: Tx;
}

export interface Acting<Input, Results, Value, Tx = undefined> {
  /** Does the work. It may be called twice, with the same key. */
  act(context: ActContext<Input, Results, Tx>): Value;
  /** How often the act is tried, and how long the waits are. Default: `retry` of the saga. */
  readonly retry?: RetryOptions;
  /** The longest that one try may take: then its signal fires, and the try counts as failed. */
  readonly timeout?: Duration;
}

interface StepBasics<Input, Results, Value, Tx> extends Acting<Input, Results, Value, Tx> {
  /** The act runs in a transaction that commits together with the step's checkpoint, exactly once. */
  readonly transaction?: TransactionKind<Tx>;
}

export interface Undoable<Input, Results, Value, Tx = undefined> {
  /** Takes back what the act did, or may have done. Called with the same key however often it is tried. */
  compensate?(context: UndoContext<Input, Partial<Results>, ValueOf<Value>, Tx>): unknown;
  /** How often the undo is tried, and how long the waits are. Default: `compensateRetry` of the saga. */
  readonly compensateRetry?: RetryOptions;
  /** The longest that all tries of the act may take together: then the saga compensates. */
  readonly deadline?: Duration;
}

/** The options of `.step` before the pivot. */
export interface StepOptions<Input, Results, Value, Tx>
  extends StepBasics<Input, Results, Value, Tx>, Undoable<Input, Results, Value, Tx> {
  /** Undo the step also when its act answered with `err`. */
  readonly undoOnErr?: boolean;
}

/** The point of no return. Its undo, if it has one, is called only where the pivot itself did not finish. */
export interface PivotOptions<Input, Results, Value, Tx>
  extends StepBasics<Input, Results, Value, Tx>, Undoable<Input, Results, Value, Tx> {}

/** After the pivot the saga only goes forward: there is nothing to compensate, and no deadline that would. */
export interface ForwardOnly {
  /** Not after the pivot. */
  readonly compensate?: "After the pivot a saga only goes forward: there is nothing to compensate.";
  /** Not after the pivot. */
  readonly deadline?: "After the pivot a saga only goes forward: no deadline can turn it back.";
}

/** The options of `.step` after the pivot. */
export interface ForwardOptions<Input, Results, Value, Tx>
  extends StepBasics<Input, Results, Value, Tx>, ForwardOnly {}

/**
 * What is done instead where the step fails for good: a step of its own, with its own name, keys and tries. Whatever the
 * step may have done is undone first. What the fallback returns is the step's result.
 */
export interface WithFallback<Options, Name> {
  /** Another step, which takes the place of this one if it fails for good. */
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

export type With<Results, Name extends string, Value> = {
  readonly [K in keyof Results | Name]: K extends keyof Results ? Results[K] : ValueOf<Value>;
};

/** What a saga without steps has. */
// oxlint-disable-next-line typescript/ban-types
export type NoResults = {};

/** A saga as it is registered and started. */
export interface SagaDefinition<Input = unknown, Output = unknown, Results = unknown, Failure = unknown> {
  /** The name of the saga. */
  readonly name: string;
  /** The version of the definition. */
  readonly version: number;
  /** The schema of the input. */
  readonly schema: StandardSchemaV1<Input, Output>;
  /** The steps, in their order. */
  readonly steps: readonly StepDefinition[];
  /** What is recorded of the steps when a saga starts. */
  readonly plan: Plan;
  /** The options, with their defaults. */
  readonly settings: SagaSettings;
  /** Only for the compiler. */
  readonly types?: { readonly results: Results; readonly failure: Failure };
}

/** Any saga, whatever its types. */
export type AnySaga = SagaDefinition;

/** A saga before its pivot: the builder that `saga` returns. */
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
  /** Adds steps that act at the same time. They do not see each other's results; the steps after them see all. */
  parallel<const Name extends string, Added, Failed>(
    name: Name & Fresh<Name, Results>,
    steps: (
      group: StepGroup<Stored<Output>, Results, NoResults, never>,
    ) => StepGroup<Stored<Output>, Results, Added, Failed>,
    options?: ParallelOptions,
  ): Saga<Input, Output, Together<Results, Added>, Failure | Failed>;
  /** Rests for so long, durably, without holding anything. */
  sleep<const Name extends string>(
    name: Name & Fresh<Name, Results>,
    duration: Duration,
  ): Saga<Input, Output, With<Results, Name, undefined>, Failure>;
  /** Rests until `amends.signal` sends this signal. Its payload is the step's result. */
  waitFor<const Name extends string, Payload, const End extends OnTimeout = "compensate">(
    name: Name & Fresh<Name, Results>,
    options: SignalWait<Payload, End>,
  ): Saga<Input, Output, With<Results, Name, Waited<Payload, End>>, Failure>;
  /** Rests until an event is published that belongs to this saga. Its data is the step's result. */
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

/** A saga after its pivot, which only goes forward. */
export interface ForwardSaga<Input, Output, Results, Failure> extends SagaDefinition<
  Input,
  Output,
  Results,
  Failure
> {
  /** Adds a step that is retried until it succeeds, or until a person decides. */
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
  /** Adds steps that act at the same time, each retried until it succeeds, or until a person decides. */
  parallel<const Name extends string, Added, Failed>(
    name: Name & Fresh<Name, Results>,
    steps: (
      group: ForwardGroup<Stored<Output>, Results, NoResults, never>,
    ) => ForwardGroup<Stored<Output>, Results, Added, Failed>,
    options?: ParallelOptions,
  ): ForwardSaga<Input, Output, Together<Results, Added>, Failure | Failed>;
  /** Rests for so long, durably, without holding anything. */
  sleep<const Name extends string>(
    name: Name & Fresh<Name, Results>,
    duration: Duration,
  ): ForwardSaga<Input, Output, With<Results, Name, undefined>, Failure>;
  /** Rests until `amends.signal` sends this signal. Its payload is the step's result. */
  waitFor<const Name extends string, Payload, const End extends OnTimeout = "compensate">(
    name: Name & Fresh<Name, Results>,
    options: SignalWait<Payload, End> & ForwardLimit<End>,
  ): ForwardSaga<Input, Output, With<Results, Name, Waited<Payload, End>>, Failure>;
  /** Rests until an event is published that belongs to this saga. Its data is the step's result. */
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
  /** Sagas keep the version they began with: register old and new side by side until the old ones have ended. */
  readonly version?: number;
  /** The longest that the saga may take before its pivot: then it compensates. */
  readonly deadline?: Duration;
  /** For every step that does not say otherwise. */
  readonly retry?: RetryOptions;
  /** For every undo of a step that has none of its own. Default: 8 tries from 1s. */
  readonly compensateRetry?: RetryOptions;
  /** How often the saga may lose its worker before it stalls. Default: 5. */
  readonly recoveries?: number;
  /** Also store the messages of what is thrown, which may carry personal data. Default: `keepMessages` of `new Amends`. */
  readonly keepMessages?: boolean;
}

/** Defines a saga: a name, a schema for its input (any Standard Schema library), then its steps. */
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
