/**
 * One call of the user's code: a step's act or undo, a handler, an outbox call, a resolver, a sender. It may hang, and
 * cannot be ended from outside, so this always holds: when a limit passes, or its row is lost, the call is told through its
 * signal; it then has a grace period, and an answer within that period counts; after it the call is overdue, and its caller
 * goes on without the answer, but keeps the promise of it, because the call is known to run.
 */
import type { Clock } from "../storage/clock.ts";
import { Stoppable, type StopReason } from "./stoppable.ts";

export interface CallLimits {
  readonly clock: Clock;
  /** Of one try. */
  readonly timeoutMs?: number | undefined;
  /** Until the deadline of everything that the call belongs to. */
  readonly deadlineMs?: number | undefined;
  /** Without a grace period the answer is waited for, however late it is. */
  readonly graceMs: number | undefined;
}

/** The claim under which a call is made. */
export interface StopSource {
  readonly stopped: StopReason | undefined;
  onStop(listener: (() => void) | undefined): void;
}

export class Call extends Stoppable {
  #timers: (() => void)[] | undefined;
  #cancelGrace: (() => void) | undefined;

  /** A loss and a shutdown hold for every call that begins after them. */
  constructor(earlier?: StopReason) {
    super();
    if (earlier === "lost" || earlier === "shutdown") this.stop(earlier);
  }

  /** A call that is told when its claim is lost or its worker shuts down. */
  static under(claim: StopSource): Call {
    const call = new Call(claim.stopped);
    claim.onStop(() => call.stop(claim.stopped ?? "lost"));
    return call;
  }

  /** The answer, or what `overdue` makes of a call that is still running then. `answered` never rejects. */
  within<Answer>(
    limits: CallLimits,
    answered: Promise<Answer>,
    overdue: (late: Promise<Answer>) => Answer,
  ): Promise<Answer> {
    const { clock, timeoutMs, deadlineMs, graceMs } = limits;
    if (timeoutMs === undefined && deadlineMs === undefined) return answered;
    return new Promise((resolve) => {
      const end = (answer: Answer): void => {
        this.clearLimits();
        resolve(answer);
      };
      const timeUp = (reason: "timeout" | "deadline"): void => {
        this.stop(reason);
        if (graceMs === undefined) return;
        this.#cancelGrace ??= clock.after(graceMs, () => end(overdue(answered)));
      };
      this.#timers = [];
      if (timeoutMs !== undefined) this.#timers.push(clock.after(timeoutMs, () => timeUp("timeout")));
      if (deadlineMs !== undefined) this.#timers.push(clock.after(deadlineMs, () => timeUp("deadline")));
      void answered.then(end);
    });
  }

  /** The call is not waited for any longer: no limit of it matters. */
  clearLimits(): void {
    for (const cancel of this.#timers ?? []) cancel();
    this.#cancelGrace?.();
  }
}
