/**
 * The handle of a run, to wait for its end. An end in this process notifies waiters at once; an end in another
 * process is found by polling.
 */
import { delayMs, type Backoff } from "../core/backoff.ts";
import { positiveMs } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { flowMachine, OPEN_FLOWS, type FlowStatus } from "../core/flow/machine.ts";
import { refuseUnknown } from "../core/options.ts";
import type { WaitOptions } from "../sagas/view/handle.ts";
import type { Clock } from "../storage/clock.ts";
import type { RunRecord } from "./run/outcome.ts";

const LOOK_AGAIN: Backoff = { baseMs: 2_000, capMs: 10_000, factor: 2 };

/** The run has ended or needs an operator: a stalled run notifies its waiters as well. */
export function isAtRest(status: FlowStatus): boolean {
  return !OPEN_FLOWS.includes(status) || status === "stalled";
}

export const AT_REST: readonly FlowStatus[] = flowMachine.states.filter(isAtRest);

/** The waiters of this process, by run. */
export class RunListeners {
  readonly #waiting: Map<string, Set<(status: FlowStatus) => void>> = new Map();

  notify(sagaId: string, status: FlowStatus): void {
    const waiting = isAtRest(status) ? this.#waiting.get(sagaId) : undefined;
    if (!waiting) return;
    this.#waiting.delete(sagaId);
    for (const listener of waiting) listener(status);
  }

  listen(sagaId: string, listener: (status: FlowStatus) => void): () => void {
    const waiting = this.#waiting.get(sagaId) ?? new Set();
    this.#waiting.set(sagaId, waiting.add(listener));
    return () => {
      waiting.delete(listener);
      if (waiting.size === 0) this.#waiting.delete(sagaId);
    };
  }
}

export interface FlowRunTools {
  readonly listeners: RunListeners;
  readonly clock: Clock;
  /** The status of the run in the database. */
  look(id: string): Promise<FlowStatus | undefined>;
}

/** A run of a saga over events. */
export class FlowRun {
  /** The id of the run, for `inspect` and `retry`. */
  readonly id: string;
  /** The name of the saga. */
  readonly saga: string;
  /** The id of the process, as it is stored. */
  readonly processId: string;
  readonly #tools: FlowRunTools;

  /** Not for users: `publish` makes it. */
  constructor(tools: FlowRunTools, run: Pick<RunRecord, "sagaId" | "sagaType" | "processId">) {
    this.#tools = tools;
    this.id = run.sagaId;
    this.saga = run.sagaType;
    this.processId = run.processId;
  }

  /**
   * Resolves with the status when the run has completed, failed or stalled. Rejects with `STOPPED_WAITING` on a timeout
   * or an abort, and with `SAGA_NOT_FOUND` if the run does not exist.
   */
  async ended(options: WaitOptions = {}): Promise<FlowStatus> {
    refuseUnknown(options, ["signal", "timeout"], "The wait for a run");
    const { signal, timeout } = options;
    const { clock } = this.#tools;
    const overMs = timeout === undefined ? Infinity : clock.monotonicMs() + positiveMs(timeout, "timeout");
    for (let look = 1; ; look++) {
      const leftMs = overMs - clock.monotonicMs();
      if (leftMs <= 0) throw stoppedWaiting();
      const status =
        (await this.#notified(Math.min(delayMs(LOOK_AGAIN, look), leftMs), signal)) ??
        (await this.#tools.look(this.id));
      if (status === undefined) {
        throw new AmendsError(
          "SAGA_NOT_FOUND",
          "There is no such run: its process had an open one already, or the transaction that began it was rolled back.",
          { id: this.id },
        );
      }
      if (isAtRest(status)) return status;
    }
  }

  /** The status of a notification within this time. */
  async #notified(ms: number, signal: AbortSignal | undefined): Promise<FlowStatus | undefined> {
    const { listeners, clock } = this.#tools;
    const status = await new Promise<FlowStatus | undefined>((resolve) => {
      const done = (given?: FlowStatus): void => {
        cancel();
        unlisten();
        signal?.removeEventListener("abort", stop);
        resolve(given);
      };
      const stop = (): void => done();
      const cancel = clock.after(ms, stop);
      const unlisten = listeners.listen(this.id, done);
      signal?.addEventListener("abort", stop, { once: true });
      if (signal?.aborted) done();
    });
    if (!signal?.aborted) return status;
    throw stoppedWaiting();
  }
}

function stoppedWaiting(): AmendsError {
  return new AmendsError("STOPPED_WAITING", "The wait for this run was stopped. The run goes on.");
}
