/** One attempt of a durable call: the user's code gets the stored input, and whatever it does becomes an outcome. */
import type { RetryPolicy } from "../../core/backoff.ts";
import { decide, type Decision, type Outcome, type Policy } from "../../core/outbox/decide.ts";
import { isErr } from "../../core/result.ts";
import { intercepted } from "../../runtime/call.ts";
import type { Lease } from "../../runtime/lease.ts";
import { Attempt, type AttemptLimits } from "../attempt.ts";
import { failureOf } from "../outcome.ts";
import type { ClaimedCall } from "../rows.ts";
import type { CallContext, CallDefinition } from "./definition.ts";

/** A call that this process makes, with what is the same for all of its attempts. */
export class KnownCall {
  readonly definition: CallDefinition;
  readonly policy: Policy;
  readonly limits: AttemptLimits;
  readonly errorCodes: ReadonlySet<string>;
  readonly noteRunning: (entry: ClaimedCall) => Promise<void>;

  constructor(
    definition: CallDefinition,
    retry: RetryPolicy,
    tools: Pick<KnownCall, "limits" | "errorCodes" | "noteRunning">,
  ) {
    this.definition = definition;
    this.policy = { attemptMax: retry.attemptMax, backoff: retry, verifies: undefined };
    this.limits = tools.limits;
    this.errorCodes = tools.errorCodes;
    this.noteRunning = tools.noteRunning;
  }
}

const DONE: Outcome = { kind: "done", already: false };
const REFUSED: Outcome = { kind: "refused", label: "Err" };
const UNREADABLE: Outcome = { kind: "refused", label: "UnreadableEntry" };

const UNREADABLE_INPUT = Symbol("unreadable");

function inputOf({ payload }: ClaimedCall): unknown {
  try {
    return JSON.parse(payload ?? "null");
  } catch {
    return UNREADABLE_INPUT;
  }
}

function outcomeOf(returned: unknown): Outcome {
  return isErr(returned) ? REFUSED : DONE;
}

export class CallAttempt extends Attempt {
  readonly #known: KnownCall;
  readonly #entry: ClaimedCall;

  constructor(known: KnownCall, entry: ClaimedCall, lease: Lease) {
    super(lease);
    this.#known = known;
    this.#entry = entry;
  }

  protected call(): Promise<Outcome> {
    const failed = (thrown: unknown): Outcome => failureOf(thrown, this.#known.errorCodes);
    const input = inputOf(this.#entry);
    if (input === UNREADABLE_INPUT) return Promise.resolve(UNREADABLE);
    try {
      return Promise.resolve(this.#make(input)).then(outcomeOf, failed);
    } catch (thrown) {
      return Promise.resolve(failed(thrown));
    }
  }

  #make(input: unknown): unknown {
    const { entryId: key, attempts: attempt } = this.#entry;
    const { name, handle } = this.#known.definition;
    const context = new Context(key, attempt, this);
    return intercepted(
      () => ({ part: "call", name, attempt, key }),
      () => handle(input as never, context),
    );
  }

  protected decide(outcome: Outcome): Decision {
    return decide(this.#entry, outcome, this.#known.policy);
  }

  protected noteRunning(): Promise<void> {
    return this.#known.noteRunning(this.#entry);
  }
}

/** The signal is made when it is read, because most calls never read it. It is an own property, so that wrappers can copy the object. */
class Context implements CallContext {
  readonly key: string;
  readonly attempt: number;
  declare readonly signal: AbortSignal;
  readonly #of: CallAttempt;

  constructor(key: string, attempt: number, of: CallAttempt) {
    this.key = key;
    this.attempt = attempt;
    this.#of = of;
    Object.defineProperty(this, "signal", Context.#SIGNAL);
  }

  /** One for all contexts: a getter for each would cost more than the call. */
  static readonly #SIGNAL: PropertyDescriptor = {
    enumerable: true,
    get(this: Context): AbortSignal {
      return this.#of.signal;
    },
  };
}
