/**
 * One call of application code: a step's act or undo, a handler, an outbox call, a resolver, a sender. It may hang
 * and cannot be killed, so these rules hold: when a timeout passes or the claim is lost, the call's signal aborts.
 * The call then has a grace period, and an answer within that period counts. After it the call is overdue: its
 * caller continues without the answer, but keeps the promise, because the call is known to run.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { TimeLimit, type Clock, type Limited } from "../storage/clock.ts";
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

export class Call<Answer = unknown> extends Stoppable {
  /** Set while a caller waits: a claim keeps its call until the outcome is written, and nothing of the wait. */
  #wait: Wait<Answer> | undefined;

  /** After a lost claim or a shutdown, every new call is aborted at once. */
  constructor(earlier?: StopReason) {
    super();
    if (earlier === "lost" || earlier === "shutdown") this.stop(earlier);
  }

  /** A call whose signal aborts when its claim is lost or its worker shuts down. */
  static under<Answer>(claim: StopSource): Call<Answer> {
    const call = new Call<Answer>(claim.stopped);
    claim.onStop(() => call.stop(claim.stopped ?? "lost"));
    return call;
  }

  /** The answer, or the result of `overdue` for a call that still runs. `answered` never rejects. */
  within(
    limits: CallLimits,
    answered: Promise<Answer>,
    overdue: (late: Promise<Answer>) => Answer,
  ): Promise<Answer> {
    if (limits.timeoutMs === undefined && limits.deadlineMs === undefined) return answered;
    return new Promise((resolve) => {
      this.#wait = new Wait(this, limits, answered, overdue, resolve);
      void answered.then((answer) => this.end(answer));
    });
  }

  /** The caller no longer waits for the call. The first answer counts. */
  end(answer: Answer): void {
    this.#wait?.end(answer);
    this.#wait = undefined;
  }
}

/** A caller that waits for its call, with the limits of the wait. */
class Wait<Answer> implements Limited {
  sinceMs = 0;
  readonly #call: Call<Answer>;
  readonly #limits: CallLimits;
  readonly #answered: Promise<Answer>;
  readonly #overdue: (late: Promise<Answer>) => Answer;
  readonly #resolve: (answer: Answer) => void;
  readonly #cancelDeadline: (() => void) | undefined;
  #cancelGrace: (() => void) | undefined;

  constructor(
    call: Call<Answer>,
    limits: CallLimits,
    answered: Promise<Answer>,
    overdue: (late: Promise<Answer>) => Answer,
    resolve: (answer: Answer) => void,
  ) {
    this.#call = call;
    this.#limits = limits;
    this.#answered = answered;
    this.#overdue = overdue;
    this.#resolve = resolve;
    const { clock, timeoutMs, deadlineMs } = limits;
    if (timeoutMs !== undefined) timeoutOf(clock, timeoutMs).begin(this);
    this.#cancelDeadline =
      deadlineMs === undefined ? undefined : clock.after(deadlineMs, () => this.timeUp("deadline"));
  }

  timeUp(reason: "timeout" | "deadline" = "timeout"): void {
    this.#call.stop(reason);
    const { clock, graceMs } = this.#limits;
    if (graceMs === undefined) return;
    this.#cancelGrace ??= clock.after(graceMs, () => this.#call.end(this.#overdue(this.#answered)));
  }

  end(answer: Answer): void {
    const { clock, timeoutMs } = this.#limits;
    if (timeoutMs !== undefined) timeoutOf(clock, timeoutMs).end(this);
    this.#cancelDeadline?.();
    this.#cancelGrace?.();
    this.#resolve(answer);
  }
}

const timeouts = new WeakMap<Clock, Map<number, TimeLimit>>();

/** The timeout of this length. Lengths come from definitions, so there are few. */
function timeoutOf(clock: Clock, ms: number): TimeLimit {
  const ofClock = timeouts.get(clock) ?? new Map<number, TimeLimit>();
  timeouts.set(clock, ofClock);
  const limit = ofClock.get(ms) ?? new TimeLimit(clock, ms);
  ofClock.set(ms, limit);
  return limit;
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

/** What calls go through now; undefined without a test kit. */
export function currentInterceptor(): Interceptor | undefined {
  return active === 0 ? undefined : current.getStore();
}

export function intercepted<T>(describe: () => InterceptedCall, make: () => T): T | Promise<Awaited<T>> {
  const interceptor = currentInterceptor();
  return interceptor ? (interceptor(describe(), async () => make()) as Promise<Awaited<T>>) : make();
}
