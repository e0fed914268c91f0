/** What a step that Amends makes itself, such as a list or a choice, returns: it says what is recorded, not what was returned. */
import type { FailureLabel } from "../../core/saga/failure-label.ts";
import type { Outcome } from "../../core/saga/interpreter.ts";
import type { EncodedCall } from "../../outbox/calls/definition.ts";

export class OwnOutcome {
  readonly outcome: Outcome;
  /** Calls that go into the outbox with it. */
  readonly calls: readonly EncodedCall[];

  constructor(outcome: Outcome, calls: readonly EncodedCall[] = []) {
    this.outcome = outcome;
    this.calls = calls;
  }
}

/** The step is done, and this is recorded. */
export function recorded(details: string | null): OwnOutcome {
  return new OwnOutcome({ kind: "ok", details });
}

/** The call is over and its step goes on: these details are recorded. */
export function goesOn(details: readonly string[]): OwnOutcome {
  return new OwnOutcome({ kind: "ok", details: null, goesOn: details });
}

/** What the application returned cannot be used, for this reason. The step fails, as with any result that cannot be stored. */
export function unfit(label: FailureLabel): OwnOutcome {
  return new OwnOutcome({ kind: "failed", transient: false, failure: { kind: "unfit", label } });
}

/** Goes on with a value, at once if it is not a promise. */
export function andThen<T, R>(value: T | PromiseLike<T>, use: (value: T) => R): R | PromiseLike<R> {
  return typeof (value as PromiseLike<T> | undefined)?.then === "function"
    ? (value as PromiseLike<T>).then((given) => use(given))
    : use(value as T);
}
