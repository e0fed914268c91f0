/**
 * A run that an event has begun: wait for its end. What happens in this process is known at once, what happens in
 * another is found by looking.
 */
import { delayMs, type Backoff } from "../core/backoff.ts";
import { AmendsError } from "../core/errors.ts";
import { flowMachine, OPEN_FLOWS, type FlowStatus } from "../core/flow/machine.ts";
import type { Clock } from "../storage/clock.ts";

const LOOK_AGAIN: Backoff = { baseMs: 2_000, capMs: 10_000, factor: 2 };

/** A run that is stalled waits for a person: whoever waits for its end is told. */
export function isAtRest(status: FlowStatus): boolean {
  return !OPEN_FLOWS.includes(status) || status === "stalled";
}

export const AT_REST: readonly FlowStatus[] = flowMachine.states.filter(isAtRest);

/** Who waits for which run. */
export class FlowNews {
  readonly #waiting: Map<string, Set<(status: FlowStatus) => void>> = new Map();

  tell(sagaId: string, status: FlowStatus): void {
    const waiting = isAtRest(status) ? this.#waiting.get(sagaId) : undefined;
    if (!waiting) return;
    this.#waiting.delete(sagaId);
    for (const hear of waiting) hear(status);
  }

  listen(sagaId: string, hear: (status: FlowStatus) => void): () => void {
    const waiting = this.#waiting.get(sagaId) ?? new Set();
    this.#waiting.set(sagaId, waiting.add(hear));
    return () => {
      waiting.delete(hear);
      if (waiting.size === 0) this.#waiting.delete(sagaId);
    };
  }
}

export interface FlowRunTools {
  readonly news: FlowNews;
  readonly clock: Clock;
  /** How the run stands in the database. */
  look(id: string): Promise<FlowStatus | undefined>;
}

export class FlowRun {
  readonly id: string;
  readonly saga: string;
  readonly processId: string;
  readonly #tools: FlowRunTools;

  constructor(
    tools: FlowRunTools,
    run: { readonly sagaId: string; readonly sagaType: string; readonly processId: string },
  ) {
    this.#tools = tools;
    this.id = run.sagaId;
    this.saga = run.sagaType;
    this.processId = run.processId;
  }

  /** Resolves when the run has completed, has failed, or has stalled and waits for a person. */
  async ended(options: { readonly signal?: AbortSignal } = {}): Promise<FlowStatus> {
    for (let look = 1; ; look++) {
      const heard =
        (await this.#hear(delayMs(LOOK_AGAIN, look), options.signal)) ?? (await this.#tools.look(this.id));
      if (heard === undefined) {
        throw new AmendsError(
          "SAGA_NOT_FOUND",
          "There is no such run: its process had an open one already, or the transaction that began it was rolled back.",
          { id: this.id },
        );
      }
      if (isAtRest(heard)) return heard;
    }
  }

  /** What is told within so long. */
  async #hear(ms: number, signal: AbortSignal | undefined): Promise<FlowStatus | undefined> {
    const { news, clock } = this.#tools;
    const heard = await new Promise<FlowStatus | undefined>((resolve) => {
      const done = (status?: FlowStatus): void => {
        cancel();
        unlisten();
        signal?.removeEventListener("abort", stop);
        resolve(status);
      };
      const stop = (): void => done();
      const cancel = clock.after(ms, stop);
      const unlisten = news.listen(this.id, done);
      signal?.addEventListener("abort", stop, { once: true });
      if (signal?.aborted) done();
    });
    if (!signal?.aborted) return heard;
    throw new AmendsError("NOT_ALLOWED_NOW", "Waiting for the run was stopped; the run goes on.");
  }
}
