/** What may be said of a step that acts in rounds, as the compiler sees it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { RetryOptions } from "../../../core/backoff.ts";
import type { Duration } from "../../../core/duration.ts";
import type { ValueOf } from "../results.ts";
import type { SignalType } from "../signal.ts";
import type { ListContext } from "./each.ts";
import type { JsonProgress, ProgressOption } from "./progress.ts";
import type { ActContext, CallContext, ForwardOnly } from "./step.ts";
import type { EventMatch } from "./wait.ts";

/** What follows the last round: the saga goes on with `{ done: false }`, or the step fails. */
export type OnMax = "continue" | "fail";

/** What the act of one round receives. */
export interface RoundContext<
  Input,
  Results,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends ActContext<Input, Results, undefined, Progress> {
  /** The number of the round; 1 for the first. The idempotency key contains it. */
  readonly round: number;
}

/** What the compensation of a step in rounds receives. */
export interface RepeatUndoContext<
  Input,
  Results,
  Value,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends CallContext<Input, Results, undefined, Progress> {
  /** What the last round that succeeded returned; undefined if none did. */
  readonly result: Value | undefined;
  /** The number of rounds that have begun, the one that is in doubt included. */
  readonly rounds: number;
  /** Returns the idempotency key of the act of a round. */
  actKey(round: number): string;
}

/** What `until` is asked after a round. */
export interface UntilContext<Input, Results, Value> extends ListContext<Input, Results> {
  /** What the round returned. */
  readonly result: Value;
  /** The number of the round; 1 for the first. */
  readonly round: number;
}

/** The parts of a step in rounds that stand before and after the pivot. */
export interface Rounds<
  Input,
  Results,
  Value,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends ProgressOption<Progress> {
  /** Does the work of one round, as the act of a step does. An `err` fails the step. */
  act(context: RoundContext<Input, Results, Progress>): Value;
  /** The wait between two rounds. It is durable and holds no worker slot. */
  readonly every: Duration;
  /** The most rounds: 1 to 1,000. */
  readonly max: number;
  /** The wait before the first round. Default: none. */
  readonly delay?: Duration;
  /** The number of attempts of an act that throws, and the waits between them, for each round. Default: `retry` of the saga. */
  readonly retry?: RetryOptions;
  /** The timeout of one attempt: then its signal aborts, and the attempt counts as failed. Default: none. */
  readonly timeout?: Duration;
}

/** The end of the rounds. `fail` lets the step fail after the last round, so that the saga compensates. */
export interface AtMax<End extends OnMax> {
  /** What follows the last round. Default: "continue". */
  readonly onMax?: End;
}

/** The compensation of a step in rounds: one for all rounds. */
export interface UndoRounds<Input, Results, Value, Progress extends StandardSchemaV1 = JsonProgress> {
  /** Undoes what the rounds did or may have done. It may be called again, always with the same key. */
  compensate?(context: RepeatUndoContext<Input, Partial<Results>, ValueOf<Value>, Progress>): unknown;
  /** The number of attempts of a compensation that throws, and the waits between them. Default: `compensateRetry` of the saga. */
  readonly compensateRetry?: RetryOptions;
}

/** What a step in rounds cannot have after the pivot. */
export interface ForwardRounds extends Pick<ForwardOnly, "compensate"> {
  /** Not allowed: after the pivot no step can fail the saga. */
  readonly onMax?: "continue";
}

/** Rounds that end when a function says so after a round. */
export interface UntilDone<Input, Results, Value> {
  /** Returns true after the last round. */
  until(context: UntilContext<Input, Results, ValueOf<Value>>): boolean | Promise<boolean>;
}

/** Rounds that end when a signal arrives. */
export interface UntilSignal<Payload> {
  /** The signal that ends the step at once. After the last round it is waited for once more. */
  readonly until: {
    /** The signal to wait for. */
    readonly signal: SignalType<string, unknown, Payload>;
  };
}

/** Rounds that end when an event is published. */
export interface UntilEvent<Input, Data, Field> {
  /** The event that ends the step at once. After the last round it is waited for once more. */
  readonly until: EventMatch<Input, Data, Field>;
}

/** What a step is worth to later steps if a function ends its rounds. */
export type Repeated<Value, End extends OnMax> =
  | { readonly done: true; readonly rounds: number; readonly result: ValueOf<Value> }
  | (End extends "fail"
      ? never
      : { readonly done: false; readonly rounds: number; readonly result: ValueOf<Value> });

/** What a step is worth to later steps if a signal or an event ends its rounds. It may arrive before the first round. */
export type RepeatedUntil<Value, Received, End extends OnMax> =
  | {
      readonly done: true;
      readonly rounds: number;
      readonly result?: ValueOf<Value>;
      readonly received: Received;
    }
  | (End extends "fail"
      ? never
      : { readonly done: false; readonly rounds: number; readonly result?: ValueOf<Value> });
