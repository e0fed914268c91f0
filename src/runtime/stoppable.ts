/**
 * Something that can be told to stop, once, and for one reason: a call of the user's code, or a wait. Its AbortSignal is
 * made only if it is read, because most calls never read it.
 */

/**
 * `timeout`: one try has no time left. `deadline`: everything that the call belongs to has none. `cancelled`: an operator
 * asked. `shutdown`: the worker stops. `lost`: another worker may have the row.
 */
export type StopReason = "timeout" | "deadline" | "cancelled" | "shutdown" | "lost";

export class Stoppable {
  #reason: StopReason | undefined;
  #controller: AbortController | undefined;

  /** Set once it was told to stop. */
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
