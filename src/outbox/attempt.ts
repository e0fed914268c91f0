/**
 * One call of application code under a claim. It has a timeout, and its signal aborts when the claim is lost or the
 * worker shuts down. A call that does not return keeps its slot. After the last attempt, the worker keeps renewing
 * the lease and waits for the call: no entry is abandoned while its call is known to run.
 */
import type { Decision, Outcome } from "../core/outbox/decide.ts";
import { Call, type CallLimits } from "../runtime/call.ts";
import type { Lease } from "../runtime/lease.ts";
import type { StopReason } from "../runtime/stoppable.ts";

const TIMED_OUT: Outcome = { kind: "trouble", label: "TimedOut" };

export interface AttemptLimits extends CallLimits {
  readonly timeoutMs: number;
}

export interface Decided {
  readonly outcome: Outcome;
  readonly decision: Decision;
}

export abstract class Attempt extends Call<Outcome | undefined> {
  readonly #lease: Lease;
  /** Set once the call is overdue: its outcome, whenever it comes. */
  #late: Promise<Outcome | undefined> | undefined;

  constructor(lease: Lease) {
    super(lease.stopped);
    this.#lease = lease;
    lease.onStop(() => this.stop(lease.stopped ?? "lost"));
  }

  /** Makes the call. Never rejects. */
  protected abstract call(): Promise<Outcome>;

  protected abstract decide(outcome: Outcome): Decision;

  /** The last attempt has not returned. */
  protected abstract noteRunning(): Promise<void>;

  /** Another worker may have claimed the entry: nobody waits for this call any more. */
  override stop(reason: StopReason): void {
    super.stop(reason);
    if (reason === "lost") this.end(undefined);
  }

  /** The outcome of the call and the decision on it; undefined if it was interrupted. */
  decided(limits: AttemptLimits): Promise<Decided | undefined> {
    if (this.#lease.stopped !== undefined) return Promise.resolve(undefined);
    const answered = this.call();
    const ended = this.within(limits, answered, (late) => {
      this.#late = late;
      return TIMED_OUT;
    });
    return ended.then((outcome) => this.#decidedOn(outcome, answered));
  }

  #decidedOn(
    ended: Outcome | undefined,
    answered: Promise<Outcome>,
  ): Decided | undefined | Promise<Decided | undefined> {
    const lease = this.#lease;
    if (this.#late) return this.#decidedLate(this.#late);
    if (!ended) lease.keepOrphan(answered);
    const outcome = this.#read(ended);
    if (!outcome) return undefined;
    // The lease is held until the outcome is written: it keeps nothing of the call.
    lease.onStop(undefined);
    return { outcome, decision: this.decide(outcome) };
  }

  async #decidedLate(late: Promise<Outcome | undefined>): Promise<Decided | undefined> {
    const lease = this.#lease;
    lease.keepOrphan(late);
    const decision = this.decide(TIMED_OUT);
    if (decision.event !== "abandon") return { outcome: TIMED_OUT, decision };
    await this.noteRunning();
    const outcome = this.#read(await lease.unlessLost(late));
    return outcome && { outcome, decision: this.decide(outcome) };
  }

  /** The failure of an aborted call is not an outcome; its success is. */
  #read(outcome: Outcome | undefined): Outcome | undefined {
    const reason = this.stopReason;
    if (reason === undefined || (outcome?.kind !== "trouble" && outcome?.kind !== "refused")) return outcome;
    return reason === "timeout" ? TIMED_OUT : undefined;
  }
}
