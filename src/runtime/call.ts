/**
 * One call of application code: a step's act or undo, a handler, an outbox call, a resolver, a sender. It may hang
 * and cannot be killed, so these rules hold: when a timeout passes or the claim is lost, the call's signal aborts.
 * The call then has a grace period, and an answer within that period counts. After it the call is overdue: its
 * caller continues without the answer, but keeps the promise, because the call is known to run.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../storage/clock.ts";
import { Stoppable, type StopReason } from "./stoppable.ts";

export interface CallLimits {
  readonly clock: Clock;
  /** The timeout of one attempt. */
  readonly timeoutMs?: number | undefined;
  /** The time until the deadline of the saga or run that the call belongs to. */
  readonly deadlineMs?: number | undefined;
  /** The grace period. Without one, the caller waits for the answer without a limit. */
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

  /** After a lost claim or a shutdown, every new call is aborted at once. */
  constructor(earlier?: StopReason) {
    super();
    if (earlier === "lost" || earlier === "shutdown") this.stop(earlier);
  }

  /** A call whose signal aborts when its claim is lost or its worker shuts down. */
  static under(claim: StopSource): Call {
    const call = new Call(claim.stopped);
    claim.onStop(() => call.stop(claim.stopped ?? "lost"));
    return call;
  }

  /** The answer, or the result of `overdue` for a call that still runs. `answered` never rejects. */
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

  /** The caller no longer waits for the call: cancel its timers. */
  clearLimits(): void {
    for (const cancel of this.#timers ?? []) cancel();
    this.#cancelGrace?.();
  }
}

/**
 * A call that is about to be made, as the test kit sees it: the kit can fail the call, repeat it or end its process.
 * Without a test kit, a call costs one comparison more.
 */
export interface InterceptedCall {
  readonly part: "step" | "undo" | "handler" | "call" | "resolver" | "webhook";
  /** The name of the step, handler, call or resolver; the type of the event that a webhook sends. */
  readonly name: string;
  readonly attempt: number;
  /** The idempotency key of the call. */
  readonly key: string;
}

export type Interceptor = (call: InterceptedCall, make: () => Promise<unknown>) => Promise<unknown>;

const current = new AsyncLocalStorage<Interceptor>();
let active = 0;

/** Every call that the work makes goes through the interceptor. */
export async function intercepting<T>(interceptor: Interceptor, work: () => Promise<T>): Promise<T> {
  active++;
  try {
    return await current.run(interceptor, work);
  } finally {
    active--;
  }
}

export function intercepted<T>(describe: () => InterceptedCall, make: () => T): T | Promise<Awaited<T>> {
  const interceptor = active === 0 ? undefined : current.getStore();
  return interceptor ? (interceptor(describe(), async () => make()) as Promise<Awaited<T>>) : make();
}
