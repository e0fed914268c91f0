/** What steps are worth to the steps behind them, as the compiler sees it. */
import type { Stored } from "../../core/json.ts";
import type { Err, Ok } from "../../core/result.ts";

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
export type Distinct<Name extends string, Step extends string, Results> = Name &
  Fresh<Name, Results & Record<Step, unknown>>;

/** The results of the steps so far, and that of one more step. */
export type With<Results, Name extends string, Value> = {
  readonly [K in keyof Results | Name]: K extends keyof Results ? Results[K] : ValueOf<Value>;
};

// oxlint-disable-next-line typescript/ban-types
/** The results of a saga without steps. */
export type NoResults = {};
