/** What a step may wait for, as the compiler sees it. */
import type { Duration } from "../../core/duration.ts";
import type { SignalType } from "./signal.ts";

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
 * Waits for an event. Its data becomes the step's result. The event is matched by one of its fields with a value that
 * is known when the saga starts: an event that arrives before the saga waits for it is kept.
 */
export interface EventWait<Input, Data, Field, End extends OnTimeout> extends Limited<End> {
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

/** After the pivot a saga only goes forward: a wait that ends by its time limit must be one that it can do without. */
export type ForwardLimit<End extends OnTimeout> = End extends "continue"
  ? unknown
  : {
      readonly timeout?: 'After the pivot a saga only goes forward: beside a timeout, say onTimeout: "continue".';
    };

/** What a wait is worth to later steps. */
export type Waited<Value, End extends OnTimeout> = End extends "continue" ? Value | undefined : Value;
