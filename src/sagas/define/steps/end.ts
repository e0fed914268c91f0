/** Reads what follows the end of a saga. */
import type { RetryOptions } from "../../../core/backoff.ts";
import { readRetry } from "../../../core/backoff.ts";
import type { Duration } from "../../../core/duration.ts";
import { AmendsError } from "../../../core/errors.ts";
import { refuseUnknown } from "../../../core/options.ts";
import { END_STEPS, type End } from "../../../core/saga/steps/end.ts";
import { encodeCall, type CallDefinition, type EncodedCall } from "../../../outbox/calls/definition.ts";
import { andThen, OwnOutcome } from "../own-outcome.ts";
import { optionalMs } from "../saga-options.ts";
import { quietStep, type Place, type StepDefinition } from "../settings.ts";
import type { TransactionKind } from "../transaction-kind.ts";

interface Given {
  readonly transaction?: TransactionKind<unknown>;
  readonly act?: unknown;
  readonly retry?: RetryOptions;
  readonly timeout?: Duration;
  readonly call?: CallDefinition;
  readonly input?: unknown;
}

type Code = (context: never) => unknown;

/** The step that ends the saga: an act before COMPLETED, an undo before FAILED or at the end of a reversal. */
export function readEnd(place: Place, end: End, options: unknown): StepDefinition {
  const name = END_STEPS[end];
  const bad = refusal(place, name);
  const given = (options ?? {}) as Given;
  const isCall = given.call !== undefined;
  refuseUnknown(
    given,
    isCall ? ["call", "input"] : ["transaction", "act", "retry", "timeout"],
    where(place, name),
  );
  if (!isCall && (given.transaction === undefined || typeof given.act !== "function"))
    bad("give it `transaction` and `act`, or `call` and `input`");
  const code = isCall ? callCode(given, bad) : (given.act as Code);
  const retry = readRetry(given.retry, place.settings.retry, `${where(place, name)}: retry`);
  const isUndo = end !== "completed";
  const step = quietStep(place, name, { end, undo: isUndo });
  return {
    ...step,
    planned: { ...step.planned, atomic: !isCall },
    ...(isUndo ? { compensate: code, compensateRetry: retry } : { act: code, retry }),
    timeoutMs: optionalMs(given.timeout, `${where(place, name)}: timeout`),
    transaction: given.transaction,
    enqueues: isCall,
  };
}

/** The call that follows a stall. */
export type StalledHook = (context: object) => EncodedCall;

export function readStalled(place: Place, options: unknown): StalledHook {
  const name = "onStalled";
  const bad = refusal(place, name);
  const given = (options ?? {}) as Given;
  refuseUnknown(given, ["call", "input"], where(place, name));
  const { call, input } = checkCall(given, bad);
  return (context) => {
    const encoded = encodeCall(call, input(context));
    if (encoded instanceof Promise)
      throw new AmendsError("BAD_INPUT", "The schema of the call is asynchronous.");
    return encoded;
  };
}

/** The input is computed, and the call goes into the outbox with the line that ends the saga. */
function callCode(given: Given, bad: (why: string) => never): Code {
  const { call, input } = checkCall(given, bad);
  return (context: never) =>
    andThen(input(context), (value) =>
      andThen(encodeCall(call, value), (encoded) => new OwnOutcome({ kind: "ok", details: null }, [encoded])),
    );
}

function checkCall(
  { call, input }: Given,
  bad: (why: string) => never,
): { readonly call: CallDefinition; readonly input: (context: unknown) => unknown } {
  if (typeof call?.handle !== "function") return bad("`call` must be made by `defineCall(…)`");
  if (typeof input !== "function")
    return bad("`input` must be a function that returns the input of the call");
  return { call, input: input as (context: unknown) => unknown };
}

function where({ saga }: Place, name: string): string {
  return `Saga ${saga}, ${name}`;
}

function refusal(place: Place, name: string): (why: string) => never {
  return (why) => {
    throw new AmendsError("BAD_DEFINITION", `${where(place, name)}: ${why}.`, { saga: place.saga });
  };
}
