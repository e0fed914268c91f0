/**
 * One call of application code under a claim. It has a timeout, and its signal aborts when the claim is lost or the
 * worker shuts down. A call that does not return keeps its slot. After the last attempt, the worker keeps renewing
 * the lease and waits for the call: no entry is abandoned while its call is known to run.
 */
import type { Decision, Outcome } from "../core/outbox/decide.ts";
import { Call, type CallLimits } from "../runtime/call.ts";
import type { Lease } from "../runtime/lease.ts";

const TIMED_OUT: Outcome = { kind: "trouble", label: "TimedOut" };

export interface AttemptOptions extends CallLimits {
  readonly lease: Lease;
}

/** The end of a call. */
interface Ended {
  /** Undefined if the call was interrupted: it has no outcome. */
  readonly outcome: Outcome | undefined;
  /** The call has not returned. */
  readonly late?: Promise<Ended>;
}

export class Attempt {
  readonly #options: AttemptOptions;
  readonly #call: Call;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#call = Call.under(options.lease);
  }

  /** The signal of the call: aborts when the call should stop. */
  get signal(): AbortSignal {
    return this.#call.signal;
  }

  /**
   * The outcome of the call and the decision on it; undefined if it was interrupted. `onRunning` runs if the last
   * attempt has not returned. `call` never rejects.
   */
  async decided(
    call: () => Promise<Outcome>,
    decide: (outcome: Outcome) => Decision,
    onRunning: () => Promise<void>,
  ): Promise<{ readonly outcome: Outcome; readonly decision: Decision } | undefined> {
    const { lease } = this.#options;
    if (lease.stopped !== undefined) return undefined;
    const answered = call().then((outcome): Ended => ({ outcome: this.#read(outcome) }));
    const ended = await lease.unlessLost(
      this.#call.within(this.#options, answered, (late) => ({ outcome: TIMED_OUT, late })),
    );
    if (!ended) {
      this.#call.clearLimits();
      lease.keepOrphan(answered);
    }
    if (!ended?.outcome) return undefined;
    const { outcome, late } = ended;
    const decision = decide(outcome);
    if (!late) {
      lease.onStop(undefined);
      return { outcome, decision };
    }
    lease.keepOrphan(late);
    if (decision.event !== "abandon") return { outcome, decision };
    await onRunning();
    const end = (await lease.unlessLost(late))?.outcome;
    return end && { outcome: end, decision: decide(end) };
  }

  /** The failure of an aborted call is not an outcome; its success is. */
  #read(outcome: Outcome): Outcome | undefined {
    const reason = this.#call.stopReason;
    if (reason === undefined || (outcome.kind !== "trouble" && outcome.kind !== "refused")) return outcome;
    return reason === "timeout" ? TIMED_OUT : undefined;
  }
}
