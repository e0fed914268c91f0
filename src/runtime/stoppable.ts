/**
 * Something that can be told to stop, once, and for one reason: a call of the user's code, or a wait. Its AbortSignal is
 * made only if somebody looks at it, because most calls never do.
 */
export class Stoppable<Reason extends string> {
  #reason: Reason | undefined;
  #controller: AbortController | undefined;

  /** Set once it was told to stop. */
  get stopReason(): Reason | undefined {
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
  stop(reason: Reason): void {
    this.#reason ??= reason;
    this.#controller?.abort(abortError(this.#reason));
  }
}

function abortError(reason: string): DOMException {
  return new DOMException(`amends: ${reason}`, "AbortError");
}
