/**
 * The lease of one claimed row in this process. A lost claim or a shutdown aborts its work once; a call that does
 * not return keeps the lease's slot.
 */
import type { Leaving } from "./duty.ts";
import { Stoppable, type StopReason } from "./stoppable.ts";

/** Why the work on a row must stop. `shutdown` is no outcome: the row is released. */
export type LeaseStop = Extract<StopReason, "lost" | "shutdown">;

export class Lease implements Leaving {
  /** Local instant of the claim or the last successful renewal. */
  leasedAtMs: number;
  #stoppable: Stoppable | undefined;
  #stopped: LeaseStop | undefined;
  #onStop: (() => void) | undefined;
  #onLost: (() => void) | undefined;
  #gone: Deferred | undefined;
  #goneOrLost: Deferred | undefined;
  #hasLeft = false;
  #orphanedCall: Promise<unknown> | undefined;

  constructor(leasedAtMs: number) {
    this.leasedAtMs = leasedAtMs;
  }

  /** Resolves when the row is settled, released or lost. Created lazily, because most are never read. */
  get gone(): Promise<void> {
    if (this.#hasLeft) return Promise.resolve();
    this.#gone ??= deferred();
    return this.#gone.done;
  }

  /** Resolves when the row is settled or released, or as soon as it is known to be lost. */
  get goneOrLost(): Promise<void> {
    if (this.#hasLeft || this.#stopped === "lost") return Promise.resolve();
    this.#goneOrLost ??= deferred();
    return this.#goneOrLost.done;
  }

  /** The signal of the call: aborts when the call should stop. */
  get signal(): AbortSignal {
    this.#stoppable ??= new Stoppable();
    return this.#stoppable.signal;
  }

  /** Calls back each time the work must stop. There is one listener: a second one replaces it. */
  onStop(listener: (() => void) | undefined): void {
    this.#onStop = listener;
  }

  /** Set once the work must stop. A lost row is not released, even if the worker shuts down as well. */
  get stopped(): LeaseStop | undefined {
    return this.#stopped;
  }

  stop(reason: LeaseStop): void {
    if (this.#stopped === "lost") return;
    this.#stopped = reason;
    this.#stoppable ??= new Stoppable();
    this.#stoppable.stop(reason);
    this.#onStop?.();
    if (reason !== "lost") return;
    this.#onLost?.();
    this.#goneOrLost?.resolve();
  }

  /** The result of the promise, or undefined as soon as the row is lost. One at a time: a second wait replaces the first. */
  unlessLost<T>(pending: Promise<T>): Promise<T | undefined> {
    if (this.#stopped === "lost") return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.#onLost = () => resolve(undefined);
      // The lease is held until the outcome is written: it keeps nothing of a call that has ended.
      const ended = (value: T): void => {
        this.#onLost = undefined;
        resolve(value);
      };
      pending.then(ended, reject);
    });
  }

  /** The row is settled, released or lost; only its call may still run here. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  leave(): void {
    this.#hasLeft = true;
    this.#gone?.resolve();
    this.#goneOrLost?.resolve();
  }

  /** The call has not returned. The work continues without it, but the slot stays taken until it returns. */
  keepOrphan(call: Promise<unknown>): void {
    this.#orphanedCall = call.catch(() => undefined);
  }

  get orphanedCall(): Promise<unknown> | undefined {
    return this.#orphanedCall;
  }
}

interface Deferred {
  readonly done: Promise<void>;
  readonly resolve: () => void;
}

function deferred(): Deferred {
  let resolve: () => void = () => undefined;
  const done = new Promise<void>((settle) => (resolve = settle));
  return { done, resolve };
}
