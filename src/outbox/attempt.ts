/**
 * One call of foreign code under a claim: bounded in time, told to stop when its claim is lost or the worker shuts
 * down. A call that was told to stop and does not keeps its place at the desk, but nobody waits for its answer.
 */
import type { Outcome } from "../core/outbox/decide.ts";
import type { Clock } from "../storage/clock.ts";
import type { Hold } from "../work/desk.ts";

/** How long a call that ran out of time may take to notice that it was told to stop. */
const GRACE_MS = 1_000;

const TIMED_OUT: Outcome = { kind: "trouble", label: "TimedOut" };

/** `interrupted` is no outcome: the claim was lost, or is given back. */
type Attempted<T> =
  | { readonly kind: "answered"; readonly answer: T; readonly stopped: boolean }
  | { readonly kind: "timeout" }
  | { readonly kind: "interrupted" };

export class Attempt {
  readonly #clock: Clock;
  readonly #hold: Hold;
  readonly #timeoutMs: number;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isTimedOut = false;

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

  /** What the call came to, or undefined where it was interrupted. `call` never rejects. */
  async outcome(call: () => Promise<Outcome>): Promise<Outcome | undefined> {
    const ended = await this.#run(call);
    if (ended.kind === "interrupted") return undefined;
    if (ended.kind === "timeout") return TIMED_OUT;
    const { answer, stopped } = ended;
    // A call that was told to stop and fails says nothing about the other side; one that succeeds does.
    if (!stopped || (answer.kind !== "trouble" && answer.kind !== "refused")) return answer;
    return this.#isTimedOut ? TIMED_OUT : undefined;
  }

  async #run<T>(call: () => Promise<T>): Promise<Attempted<T>> {
    const hold = this.#hold;
    if (hold.stopped !== undefined) return { kind: "interrupted" };
    let cancel: () => void = () => undefined;
    const limit = new Promise<Attempted<T>>((resolve) => {
      cancel = this.#clock.after(this.#timeoutMs, () => {
        this.#isTimedOut = true;
        this.#stop("timeout");
        cancel = this.#clock.after(GRACE_MS, () => resolve({ kind: "timeout" }));
      });
      hold.onStop(() => {
        this.#stop(hold.stopped ?? "stopped");
        if (hold.stopped === "lost") resolve({ kind: "interrupted" });
      });
    });
    const answering = call();
    const answered = answering.then((answer): Attempted<T> => ({
      kind: "answered",
      answer,
      stopped: this.#isTimedOut || hold.stopped !== undefined,
    }));
    const first = await Promise.race([answered, limit]);
    cancel();
    hold.onStop(undefined);
    if (first.kind !== "answered") hold.linger(answering);
    return first;
  }

  #stop(reason: string): void {
    this.#reason ??= new DOMException(reason, "AbortError");
    this.#controller?.abort(this.#reason);
  }
}
