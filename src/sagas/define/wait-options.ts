/** What a step may wait for, as the compiler sees it. */
import type { Duration } from "../../core/duration.ts";
import type { SignalType } from "./signal.ts";

/** What happens when the time limit of a wait passes: the saga compensates, unless it can go on without. */
export type OnTimeout = "compensate" | "continue";

interface Limited<End extends OnTimeout> {
  /** The longest that is waited. Without one, only the saga's own deadline ends the wait. */
  readonly timeout?: Duration;
  /** `continue`: the saga goes on, and the step's result is undefined. Default: the saga compensates. */
  readonly onTimeout?: End;
}

/** Waits for a signal: its payload becomes the step's result. */
export interface SignalWait<Payload, End extends OnTimeout> extends Limited<End> {
  /** The signal that is waited for. */
  readonly signal: SignalType<string, unknown, Payload>;
}

/** An event as a step may wait for it: what `event(…)` of amends/events makes. */
export interface AwaitedEvent<Data = unknown> {
  /** The name of the event's type. */
  readonly type: string;
  /** The version of the schema. */
  readonly version: number;
  /** Reads a stored payload of any version. */
  read(payload: string | null, version: number): unknown;
  /** Never set: it carries the type of the data. */
  readonly types?: { readonly data: Data };
}

/** By these an event can be told to belong to a saga: texts, numbers and booleans. */
export type MatchField<Data> = {
  [K in keyof Data & string]: Data[K] extends string | number | boolean ? K : never;
}[keyof Data & string];

/**
 * Waits for an event: its data becomes the step's result. Which one is told by one of its fields, and by the saga's
 * input alone, so that it is known from the start: an event that comes before the saga waits for it is kept.
 */
export interface EventWait<Input, Data, Field, End extends OnTimeout> extends Limited<End> {
  /** The event that is waited for. */
  readonly event: AwaitedEvent<Data>;
  /** The field that must be equal. */
  readonly where: Field;
  /** To what: asked once, when the saga is started. */
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
