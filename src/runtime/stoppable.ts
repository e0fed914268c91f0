/**
 * A call or a wait that can be aborted once, with one reason. The AbortSignal is created lazily, because most calls
 * never read it.
 */

/**
 * `timeout`: the attempt timed out. `deadline`: the saga or run is past its deadline. `cancelled`: an operator
 * cancelled it. `shutdown`: the worker stops. `lost`: another worker may have claimed the row.
 */
export type StopReason = "timeout" | "deadline" | "cancelled" | "shutdown" | "lost";

export class Stoppable {
  #reason: StopReason | undefined;
  #controller: AbortController | undefined;

  /** The reason of the abort; undefined before. */
  get stopReason(): StopReason | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(abortError(this.#reason));
    }
    return this.#controller.signal;
  }

  /** The first reason counts. */
  stop(reason: StopReason): void {
    this.#reason ??= reason;
    this.#controller?.abort(abortError(this.#reason));
  }
}

function abortError(reason: string): DOMException {
  return new DOMException(`amends: ${reason}`, "AbortError");
}
