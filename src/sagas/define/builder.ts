/**
 * The typed builder of sagas. What a step returns is typed into the steps after it and into its own compensation; a name that is
 * taken, a compensation after the pivot, and a child that cannot be taken back do not compile.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "../../core/duration.ts";
import type { Stored } from "../../core/json.ts";
import type { SagaDefinition } from "./definition.ts";
import type { AnyChild, ChildOptions, ChildResult, Reversible } from "./options/child.ts";
import type { ChoiceContext, Chosen, Otherwise } from "./options/choice.ts";
import type { EachOptions, ForwardEachOptions, ItemResult } from "./options/each.ts";
import type {
  CompletedContext,
  EndCall,
  EndInTransaction,
  FailedContext,
  ReversedContext,
  StalledCall,
  StalledContext,
} from "./options/end.ts";
import type { ForwardGroup, ParallelOptions, StepGroup, Together } from "./options/parallel.ts";
import type {
  AtMax,
  ForwardRounds,
  OnMax,
  Repeated,
  RepeatedUntil,
  Rounds,
  UndoRounds,
  UntilDone,
  UntilEvent,
  UntilSignal,
} from "./options/repeat.ts";
import type { JsonProgress } from "./options/progress.ts";
import type { ForwardOptions, PivotOptions, StepOptions, WithFallback } from "./options/step.ts";
import type {
  AnyWait,
  EventWait,
  FirstOf,
  ForwardLimit,
  Matching,
  MatchField,
  OnTimeout,
  SignalWait,
  WaitAlternative,
  Waited,
} from "./options/wait.ts";
import type { Distinct, FailureOf, Fresh, NoResults, ValueOf, With } from "./results.ts";

/** Where steps are added: before the pivot, where the saga may turn back, or after it, where it only goes forward. */
export type Side = "back" | "forward";

/** What is being built: a saga whose starts may set these attributes, or a branch of one. */
export type Built = SagaWith<string> | "branch";

/** A saga whose starts may set these attributes. */
export interface SagaWith<Attribute extends string> {
  /** Only for the compiler. */
  readonly attribute: Attribute;
}

/** What adding a step returns. */
export type Added<B extends Built, S extends Side, Input, Output, Results, Failure> =
  B extends SagaWith<infer Attribute>
    ? S extends "back"
      ? Saga<Input, Output, Results, Failure, Attribute>
      : ForwardSaga<Input, Output, Results, Failure, Attribute>
    : Branch<S, Input, Output, Results, Failure>;

type StepOptionsOn<
  S extends Side,
  Input,
  Results,
  Value,
  Tx,
  Progress extends StandardSchemaV1,
> = S extends "back"
  ? StepOptions<Input, Results, Value, Tx, Progress>
  : ForwardOptions<Input, Results, Value, Tx, Progress>;

type GroupOn<S extends Side, Input, Results, Own, Failure> = S extends "back"
  ? StepGroup<Input, Results, Own, Failure>
  : ForwardGroup<Input, Results, Own, Failure>;

type EachOptionsOn<
  S extends Side,
  Input,
  Results,
  Item,
  Value,
  Progress extends StandardSchemaV1,
> = S extends "back"
  ? EachOptions<Input, Results, Item, Value, Progress>
  : ForwardEachOptions<Input, Results, Item, Value, Progress>;

type RoundsOn<
  S extends Side,
  Input,
  Results,
  Value,
  End extends OnMax,
  Progress extends StandardSchemaV1,
> = Rounds<Input, Results, Value, Progress> &
  (S extends "back" ? UndoRounds<Input, Results, Value, Progress> & AtMax<End> : ForwardRounds);

type ChildOn<S extends Side, Child> = S extends "back" ? Reversible<Child> : unknown;

type LimitOn<S extends Side, End extends OnTimeout> = S extends "back" ? unknown : ForwardLimit<End>;

/** The steps that can be added to a saga and to its branches. */
export interface StepMethods<B extends Built, S extends Side, Input, Output, Results, Failure> {
  /**
   * Adds a step. Steps run in the order in which they are added. After the pivot, a step that fails permanently stalls the saga until an
   * operator decides.
   */
  step<
    const Name extends string,
    Value,
    Tx = undefined,
    const OtherName extends string = never,
    OtherValue = never,
    OtherTx = undefined,
    Progress extends StandardSchemaV1 = JsonProgress,
    OtherProgress extends StandardSchemaV1 = JsonProgress,
  >(
    name: Name & Fresh<Name, Results>,
    options: StepOptionsOn<S, Stored<Output>, Results, Value, Tx, Progress> &
      WithFallback<
        StepOptionsOn<S, Stored<Output>, Results, OtherValue, OtherTx, OtherProgress>,
        Distinct<OtherName, Name, Results>
      >,
  ): Added<
    B,
    S,
    Input,
    Output,
    With<Results, Name, Value | OtherValue>,
    Failure | FailureOf<Value> | FailureOf<OtherValue>
  >;
  /** Adds steps that run in parallel. They do not see one another's results; the steps after them see all. */
  parallel<const Name extends string, Own, Failed>(
    name: Name & Fresh<Name, Results>,
    steps: (
      group: GroupOn<S, Stored<Output>, Results, NoResults, never>,
    ) => GroupOn<S, Stored<Output>, Results, Own, Failed>,
    options?: ParallelOptions,
  ): Added<B, S, Input, Output, Together<Results, Own>, Failure | Failed>;
  /**
   * Adds a step that acts once for each item of a list. Each item has its own idempotency key, attempts and compensation. The
   * result of the step is a list of the items with their results.
   */
  each<const Name extends string, Item, Value, Progress extends StandardSchemaV1 = JsonProgress>(
    name: Name & Fresh<Name, Results>,
    options: EachOptionsOn<S, Stored<Output>, Results, Item, Value, Progress>,
  ): Added<
    B,
    S,
    Input,
    Output,
    With<Results, Name, readonly ItemResult<Stored<Item>, ValueOf<Value>>[]>,
    Failure | FailureOf<Value>
  >;
  /**
   * Adds a choice between two branches. `predicate` is asked once, and its answer is recorded as the result of the choice. Only
   * the steps of the chosen branch run; the results of both branches may be undefined in later steps.
   */
  when<const Name extends string, Then, ThenFailed, Else = NoResults, ElseFailed = never>(
    name: Name & Fresh<Name, Results>,
    predicate: (context: ChoiceContext<Stored<Output>, Results>) => boolean | Promise<boolean>,
    branch: (
      branch: Branch<S, Input, Output, With<Results, Name, boolean>, never>,
    ) => Branch<S, Input, Output, Then, ThenFailed>,
    otherwise?: (
      branch: Branch<S, Input, Output, Otherwise<Results, Name, Then>, never>,
    ) => Branch<S, Input, Output, Else, ElseFailed>,
  ): Added<B, S, Input, Output, Chosen<Results, Name, Then, Else>, Failure | ThenFailed | ElseFailed>;
  /** Adds a step that acts in rounds until a function says after a round that it was the last one. */
  repeat<
    const Name extends string,
    Value,
    const End extends OnMax = "continue",
    Progress extends StandardSchemaV1 = JsonProgress,
  >(
    name: Name & Fresh<Name, Results>,
    options: RoundsOn<S, Stored<Output>, Results, Value, End, Progress> &
      UntilDone<Stored<Output>, Results, Value>,
  ): Added<B, S, Input, Output, With<Results, Name, Repeated<Value, End>>, Failure | FailureOf<Value>>;
  /** Adds a step that acts in rounds until a signal arrives. */
  repeat<
    const Name extends string,
    Value,
    Payload,
    const End extends OnMax = "continue",
    Progress extends StandardSchemaV1 = JsonProgress,
  >(
    name: Name & Fresh<Name, Results>,
    options: RoundsOn<S, Stored<Output>, Results, Value, End, Progress> & UntilSignal<Payload>,
  ): Added<
    B,
    S,
    Input,
    Output,
    With<Results, Name, RepeatedUntil<Value, Payload, End>>,
    Failure | FailureOf<Value>
  >;
  /** Adds a step that acts in rounds until a matching event is published. */
  repeat<
    const Name extends string,
    Value,
    Data,
    const Field extends MatchField<Data>,
    const End extends OnMax = "continue",
    Progress extends StandardSchemaV1 = JsonProgress,
  >(
    name: Name & Fresh<Name, Results>,
    options: RoundsOn<S, Stored<Output>, Results, Value, End, Progress> &
      UntilEvent<Stored<Output>, Data, Field>,
  ): Added<
    B,
    S,
    Input,
    Output,
    With<Results, Name, RepeatedUntil<Value, Data, End>>,
    Failure | FailureOf<Value>
  >;
  /**
   * Adds a step that starts another saga, its child, and waits for the child's end. A child that fails fails the step; if this saga
   * turns back, the child is cancelled or taken back.
   */
  saga<
    const Name extends string,
    ChildInput,
    ChildResults,
    ChildFailure,
    Child extends AnyChild<ChildInput, ChildResults, ChildFailure>,
  >(
    name: Name & Fresh<Name, Results>,
    child: Child & AnyChild<ChildInput, ChildResults, ChildFailure> & ChildOn<S, Child>,
    options: ChildOptions<Stored<Output>, Results, ChildInput>,
  ): Added<B, S, Input, Output, With<Results, Name, ChildResult<ChildResults>>, Failure | ChildFailure>;
  /** Adds a step that waits for this duration. The wait is durable and holds no worker slot. */
  sleep<const Name extends string>(
    name: Name & Fresh<Name, Results>,
    duration: Duration,
  ): Added<B, S, Input, Output, With<Results, Name, undefined>, Failure>;
  /** Adds a step that waits until `amends.signal` sends this signal. The payload of the signal is the step's result. */
  waitFor<const Name extends string, Payload, const End extends OnTimeout = "compensate">(
    name: Name & Fresh<Name, Results>,
    options: SignalWait<Payload, End> & LimitOn<S, End>,
  ): Added<B, S, Input, Output, With<Results, Name, Waited<Payload, End>>, Failure>;
  /** Adds a step that waits until a matching event is published. The data of the event is the step's result. */
  waitFor<
    const Name extends string,
    Data,
    const Field extends MatchField<Data>,
    const End extends OnTimeout = "compensate",
  >(
    name: Name & Fresh<Name, Results>,
    options: EventWait<Stored<Output>, Data, Field, End> & LimitOn<S, End>,
  ): Added<B, S, Input, Output, With<Results, Name, Waited<Data, End>>, Failure>;
  /** Adds a step that waits for the first of several signals, events and times. The step's result says which came first. */
  waitFor<
    const Name extends string,
    const Alternatives extends Readonly<Record<string, WaitAlternative<Stored<Output>>>>,
  >(
    name: Name & Fresh<Name, Results>,
    options: AnyWait<Alternatives & Matching<Alternatives>>,
  ): Added<B, S, Input, Output, With<Results, Name, FirstOf<Alternatives>>, Failure>;
}

/** What follows the end of a saga. Each can be said once. */
export interface EndMethods<Output, Results, Failure> {
  /** Says what follows when the saga has COMPLETED: a function in the transaction of that end, or a durable call. */
  onCompleted<Tx>(options: EndInTransaction<CompletedContext<Stored<Output>, Results>, Tx>): this;
  /** The same as a durable call. */
  onCompleted<Schema extends StandardSchemaV1>(
    options: EndCall<CompletedContext<Stored<Output>, Results>, Schema>,
  ): this;
  /** Says what follows when the saga has FAILED, after everything was undone: a function in the transaction of that end, or a durable call. */
  onFailed<Tx>(options: EndInTransaction<FailedContext<Stored<Output>, Results, Failure>, Tx>): this;
  /** The same as a durable call. */
  onFailed<Schema extends StandardSchemaV1>(
    options: EndCall<FailedContext<Stored<Output>, Results, Failure>, Schema>,
  ): this;
  /** Says what follows when the completed saga was taken back, after all undos: a function in the transaction that ends the reversal, or a durable call. */
  onReversed<Tx>(options: EndInTransaction<ReversedContext<Stored<Output>, Results>, Tx>): this;
  /** The same as a durable call. */
  onReversed<Schema extends StandardSchemaV1>(
    options: EndCall<ReversedContext<Stored<Output>, Results>, Schema>,
  ): this;
  /** Says which durable call follows when the saga is STALLED and needs an operator. */
  onStalled<Schema extends StandardSchemaV1>(
    options: StalledCall<StalledContext<Stored<Output>, Results>, Schema>,
  ): this;
}

/** A saga definition to which steps can be added, before its pivot. */
export interface Saga<
  in out Input,
  in out Output,
  in out Results,
  out Failure,
  out Attribute extends string = string,
>
  extends
    SagaDefinition<Input, Output, Results, Failure, Attribute>,
    StepMethods<SagaWith<Attribute>, "back", Input, Output, Results, Failure>,
    EndMethods<Output, Results, Failure> {
  /** Adds the point of no return: once it has succeeded, the saga only goes forward. */
  pivot<
    const Name extends string,
    Value,
    Tx = undefined,
    const OtherName extends string = never,
    OtherValue = never,
    OtherTx = undefined,
    Progress extends StandardSchemaV1 = JsonProgress,
    OtherProgress extends StandardSchemaV1 = JsonProgress,
  >(
    name: Name & Fresh<Name, Results>,
    options: PivotOptions<Stored<Output>, Results, Value, Tx, Progress> &
      WithFallback<
        PivotOptions<Stored<Output>, Results, OtherValue, OtherTx, OtherProgress>,
        Distinct<OtherName, Name, Results>
      >,
  ): ForwardSaga<
    Input,
    Output,
    With<Results, Name, Value | OtherValue>,
    Failure | FailureOf<Value> | FailureOf<OtherValue>,
    Attribute
  >;
}

/** A saga definition after its pivot: further steps only go forward. */
export interface ForwardSaga<
  in out Input,
  in out Output,
  in out Results,
  out Failure,
  out Attribute extends string = string,
>
  extends
    SagaDefinition<Input, Output, Results, Failure, Attribute>,
    StepMethods<SagaWith<Attribute>, "forward", Input, Output, Results, Failure>,
    EndMethods<Output, Results, Failure> {}

/** A branch of a saga, to which steps can be added. It has no pivot. */
export interface Branch<
  S extends Side,
  in out Input,
  in out Output,
  in out Results,
  out Failure,
> extends StepMethods<"branch", S, Input, Output, Results, Failure> {
  /** Only for the compiler. */
  readonly types?: { readonly results: Results; readonly failure: Failure };
}
