/**
 * One request and its response, within limits that a receiver cannot exceed. At most `maxBytes` of the response are
 * read, then the connection is closed. Nothing is decompressed, and redirects are not followed. The call ends when its
 * time is up, in any state. Once a status has arrived it counts, even if the rest of the response does not arrive.
 */
import type { Dispatcher } from "undici";
import type { Clock } from "../../storage/clock.ts";
import { Trouble, troubleCode } from "./trouble.ts";
import type { ErrorCode } from "../../core/delivery/error-code.ts";

export interface Outgoing {
  readonly origin: string;
  readonly path: string;
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/** Lets the caller abort the call. One listener: each call has its own. */
export interface Stop {
  /** Set once the call was aborted. */
  readonly stopped: string | undefined;
  onStop(listener: (() => void) | undefined): void;
}

export interface Limits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly stop: Stop | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** True if the body was, or may have been, longer. */
  readonly truncated: boolean;
}

export function exchange(
  client: Dispatcher,
  outgoing: Outgoing,
  limits: Limits,
): Promise<Answer | ErrorCode> {
  return new Promise((resolve) => {
    const reader = new Reader(limits, resolve);
    if (limits.stop?.stopped !== undefined) return reader.end("aborted");
    try {
      client.dispatch(outgoing, reader);
    } catch (error) {
      reader.end(troubleCode(error));
    }
  });
}

class Reader implements Dispatcher.DispatchHandler {
  readonly #limits: Limits;
  readonly #resolve: (outcome: Answer | ErrorCode) => void;
  readonly #chunks: Buffer[] = [];
  readonly #cancelTimer: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: Answer["headers"] = {};
  #size = 0;
  #over = false;

  constructor(limits: Limits, resolve: (outcome: Answer | ErrorCode) => void) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#cancelTimer = limits.clock.after(limits.timeoutMs, () => this.end("timeout"));
    limits.stop?.onStop(() => this.end("aborted"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The call ended while the request waited for a connection: it must not be sent any more.
    if (this.#over) controller.abort(new Trouble("aborted"));
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Answer["headers"],
  ): void {
    if (status < 200) return; // more is to come
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    const room = this.#limits.maxBytes - this.#size;
    if (room > 0) this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#size += chunk.length;
    if (this.#size > this.#limits.maxBytes) this.end("response_invalid");
  }

  onResponseEnd(): void {
    this.#settle(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(troubleCode(error));
  }

  /** Stops waiting and closes the connection. */
  end(why: ErrorCode): void {
    this.#settle(why);
    this.#controller?.abort(new Trouble(why));
  }

  #settle(trouble: ErrorCode | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer();
    this.#limits.stop?.onStop(undefined);
    if (this.#status === undefined) return this.#resolve(trouble ?? "response_invalid");
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: Buffer.concat(this.#chunks),
      truncated: trouble !== undefined,
    });
  }
}
