/** What a step may wait for, as the compiler sees it. */
import type { Duration } from "../../../core/duration.ts";
import type { SignalType } from "../signal.ts";

/** What happens when the time limit of a wait passes: the saga compensates, or continues without a result. */
export type OnTimeout = "compensate" | "continue";

interface Limited<End extends OnTimeout> {
  /** The longest wait. Default: none; only the saga's own deadline ends the wait. */
  readonly timeout?: Duration;
  /** `continue` lets the saga go on, with undefined as the step's result. Default: "compensate". */
  readonly onTimeout?: End;
}

/** Waits for a signal. Its payload becomes the step's result. */
export interface SignalWait<Payload, End extends OnTimeout> extends Limited<End> {
  /** The signal to wait for. */
  readonly signal: SignalType<string, unknown, Payload>;
}

/** A type of event that a step can wait for: what `event(…)` of `amends/events` returns. */
export interface AwaitedEvent<Data = unknown> {
  /** The name of the event type. */
  readonly type: string;
  /** The version of its data. */
  readonly version: number;
  /** Reads stored data and validates it. */
  read(payload: string | null, version: number): unknown;
  /** Only for the compiler: the fields of the event. */
  readonly types?: { readonly data: Data };
}

/** The fields by which an event can be matched with a saga: those that hold a string, a number or a boolean. */
export type MatchField<Data> = {
  [K in keyof Data & string]: Data[K] extends string | number | boolean ? K : never;
}[keyof Data & string];

/**
 * Which event is meant: it is matched by one of its fields with a value that is known when the saga starts. An event that arrives
 * before the saga waits for it is kept.
 */
export interface EventMatch<Input, Data, Field> {
  /** The type of event to wait for. */
  readonly event: AwaitedEvent<Data>;
  /** The field of the event that is compared. */
  readonly where: Field;
  /** Returns the value that the field must have. It is called once, when the saga starts. */
  equals(saga: {
    readonly input: Input;
    readonly sagaId: string;
  }): Field extends keyof Data ? Data[Field] : never;
}

/** Waits for an event. Its data becomes the step's result. */
export interface EventWait<Input, Data, Field, End extends OnTimeout>
  extends EventMatch<Input, Data, Field>, Limited<End> {}

/** One of several things that end a wait: a signal, an event, or time that has passed. */
export type WaitAlternative<Input> =
  | Duration
  | { readonly signal: SignalType }
  | {
      readonly event: AwaitedEvent;
      readonly where: string;
      equals(saga: { readonly input: Input; readonly sagaId: string }): string | number | boolean;
    };

/** Holds the events among the alternatives against the fields that they have. */
export type Matching<Alternatives> = {
  readonly [Name in keyof Alternatives]: Alternatives[Name] extends {
    readonly event: AwaitedEvent<infer Data>;
    readonly where: infer Field;
  }
    ? Field extends MatchField<Data>
      ? { equals(saga: never): Data[Field] }
      : {
          readonly error: "`where` must name a field of the event that holds a string, a number or a boolean.";
        }
    : unknown;
};

/** Waits for the first of several. The step's result says which it was. */
export interface AnyWait<Alternatives> {
  /**
   * What ends the wait, by names of your choice: `{ signal }`, `{ event, where, equals }`, or a duration. What came first by the
   * database's order wins; of what came at the same instant, what is declared first.
   */
  readonly any: Alternatives;
}

/** What the wait for the first of several is worth to later steps. */
export type FirstOf<Alternatives> = {
  readonly [Name in keyof Alternatives & string]: AlternativeValue<Name, Alternatives[Name]>;
}[keyof Alternatives & string];

type AlternativeValue<Name, Given> = Given extends {
  readonly signal: SignalType<string, infer _Input, infer Payload>;
}
  ? { readonly which: Name; readonly value: Payload }
  : Given extends { readonly event: AwaitedEvent<infer Data> }
    ? { readonly which: Name; readonly value: Data }
    : { readonly which: Name };

/** After the pivot a saga only goes forward: a wait that ends by its time limit must be one that it can do without. */
export type ForwardLimit<End extends OnTimeout> = End extends "continue"
  ? unknown
  : {
      readonly timeout?: 'After the pivot a saga only goes forward: beside a timeout, say onTimeout: "continue".';
    };

/** What a wait is worth to later steps. */
export type Waited<Value, End extends OnTimeout> = End extends "continue" ? Value | undefined : Value;
