/**
 * Limits the time of a call of the user's code. When a limit passes, the call is told to stop through its signal, and
 * gets a grace period: what it answers in that time counts. A call that has not returned by then is overdue: its caller
 * goes on without its answer, but still hears when it returns, because it is known to run.
 */
import type { Clock } from "../storage/clock.ts";
import { Stoppable } from "./stoppable.ts";

/** Which limit passed: that of one try, or that of everything that the call belongs to. */
export type LimitReason = "timeout" | "deadline";

export interface CallLimits {
  readonly clock: Clock;
  /** Of one try. */
  readonly timeoutMs?: number | undefined;
  /** Until the deadline of everything that the call belongs to. */
  readonly deadlineMs?: number | undefined;
  /** Without a grace period the answer is waited for, however late it is. */
  readonly graceMs: number | undefined;
}

export abstract class TimedCall<Answer, Reason extends string = never> extends Stoppable<
  LimitReason | Reason
> {
  #end: ((answer: Answer) => void) | undefined;
  #cancelTimeout: (() => void) | undefined;
  #cancelDeadline: (() => void) | undefined;
  #cancelGrace: (() => void) | undefined;

  /** What stands for the answer of a call that is still running. */
  protected abstract overdue(late: Promise<Answer>): Answer;

  /** The answer, or what stands for it once the call is overdue. `answered` never rejects. */
  within(limits: CallLimits, answered: Promise<Answer>): Promise<Answer> {
    const { clock, timeoutMs, deadlineMs } = limits;
    return new Promise((resolve) => {
      this.#end = resolve;
      if (timeoutMs !== undefined)
        this.#cancelTimeout = clock.after(timeoutMs, () => this.#timeUp("timeout", limits, answered));
      if (deadlineMs !== undefined)
        this.#cancelDeadline = clock.after(deadlineMs, () => this.#timeUp("deadline", limits, answered));
      void answered.then((answer) => this.end(answer));
    });
  }

  /** Ends the wait, with the call's own answer or with another one. */
  protected end(answer: Answer): void {
    this.#cancelTimeout?.();
    this.#cancelDeadline?.();
    this.#cancelGrace?.();
    this.#end?.(answer);
  }

  #timeUp(reason: LimitReason, { clock, graceMs }: CallLimits, answered: Promise<Answer>): void {
    this.stop(reason);
    if (graceMs === undefined) return;
    this.#cancelGrace ??= clock.after(graceMs, () => this.end(this.overdue(answered)));
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}
