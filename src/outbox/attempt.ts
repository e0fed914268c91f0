/**
 * One call of foreign code under a claim: bounded in time, told to stop when its claim is lost or the worker shuts
 * down. A call that was told to stop and does not keeps its place at the desk, but nobody waits for its answer.
 */
import type { Clock } from "../storage/clock.ts";
import type { Hold } from "../work/desk.ts";

/** How long a call that ran out of time may take to notice that it was told to stop. */
const GRACE_MS = 1_000;

/** `interrupted` is no outcome: the claim was lost, or is given back. */
export type Attempted<T> =
  | { readonly kind: "answered"; readonly answer: T; readonly stopped: boolean }
  | { readonly kind: "timeout" }
  | { readonly kind: "interrupted" };

export class Attempt {
  readonly #clock: Clock;
  readonly #hold: Hold;
  readonly #timeoutMs: number;
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  constructor(clock: Clock, hold: Hold, timeoutMs: number) {
    this.#clock = clock;
    this.#hold = hold;
    this.#timeoutMs = timeoutMs;
  }

  /** Made only for calls that look at it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** `call` never rejects. */
  async run<T>(call: () => Promise<T>): Promise<Attempted<T>> {
    const hold = this.#hold;
    if (hold.stopped !== undefined) return { kind: "interrupted" };
    let isOver = false;
    let cancel: () => void = () => undefined;
    let onStop: () => void = () => undefined;
    const limit = new Promise<Attempted<T>>((resolve) => {
      cancel = this.#clock.after(this.#timeoutMs, () => {
        isOver = true;
        this.#stop("timeout");
        cancel = this.#clock.after(GRACE_MS, () => resolve({ kind: "timeout" }));
      });
      onStop = () => {
        this.#stop(hold.stopped ?? "stopped");
        if (hold.stopped === "lost") resolve({ kind: "interrupted" });
      };
      hold.signal.addEventListener("abort", onStop);
    });
    const answering = call();
    const answered = answering.then((answer): Attempted<T> => ({
      kind: "answered",
      answer,
      stopped: isOver || hold.stopped !== undefined,
    }));
    const first = await Promise.race([answered, limit]);
    cancel();
    hold.signal.removeEventListener("abort", onStop);
    if (first.kind !== "answered") hold.linger(answering);
    return first;
  }

  get timedOut(): boolean {
    return this.#reason?.message === "timeout";
  }

  #stop(reason: string): void {
    this.#reason ??= new DOMException(reason, "AbortError");
    this.#controller?.abort(this.#reason);
  }
}
