/**
 * One call of foreign code under a claim: bounded in time, told to stop when its claim is lost or the worker shuts
 * down. A call that does not return keeps its place at the desk. Where it was the last try, its end is waited for, with
 * the lease renewed: nothing is given up while its call is known to run.
 */
import type { Decision, Outcome } from "../core/outbox/decide.ts";
import type { Lease, StopReason } from "../runtime/lease.ts";
import { TimedCall, type CallLimits } from "../runtime/timed-call.ts";

const TIMED_OUT: Outcome = { kind: "trouble", label: "TimedOut" };

export interface AttemptOptions extends CallLimits {
  readonly lease: Lease;
}

/** What a call came to. */
interface Ended {
  /** Undefined where it was interrupted: that is no outcome. */
  readonly outcome: Outcome | undefined;
  /** The call has not returned. */
  readonly late?: Promise<Ended>;
}

const INTERRUPTED: Ended = { outcome: undefined };

export class Attempt extends TimedCall<Ended, StopReason> {
  readonly #options: AttemptOptions;

  constructor(options: AttemptOptions) {
    super();
    this.#options = options;
  }

  /**
   * What the call came to and what follows from it; undefined where it was interrupted. `onRunning` is told that the
   * last try has not returned. `call` never rejects.
   */
  async decided(
    call: () => Promise<Outcome>,
    decide: (outcome: Outcome) => Decision,
    onRunning: () => Promise<void>,
  ): Promise<{ readonly outcome: Outcome; readonly decision: Decision } | undefined> {
    const { lease } = this.#options;
    if (lease.stopped !== undefined) return undefined;
    const answered = call().then((outcome): Ended => ({ outcome: this.#read(outcome) }));
    lease.onStop(() => this.#interrupt(answered));
    const { outcome, late } = await this.within(this.#options, answered);
    if (!outcome) return undefined;
    const decision = decide(outcome);
    if (!late) return { outcome, decision };
    lease.keepOrphan(late);
    if (decision.event !== "abandon") return { outcome, decision };
    await onRunning();
    const end = (await lease.unlessLost(late))?.outcome;
    return end && { outcome: end, decision: decide(end) };
  }

  protected override overdue(late: Promise<Ended>): Ended {
    return { outcome: TIMED_OUT, late };
  }

  #interrupt(answered: Promise<Ended>): void {
    const { lease } = this.#options;
    this.stop(lease.stopped ?? "lost");
    if (lease.stopped !== "lost") return;
    lease.keepOrphan(answered);
    this.end(INTERRUPTED);
  }

  /** A call that was told to stop and fails says nothing about the other side; one that succeeds does. */
  #read(outcome: Outcome): Outcome | undefined {
    const reason = this.stopReason;
    if (reason === undefined || (outcome.kind !== "trouble" && outcome.kind !== "refused")) return outcome;
    return reason === "timeout" ? TIMED_OUT : undefined;
  }
}
