/** Tells the program which sagas ended in this process. It is a hint: a process that crashes tells nobody. */
import type { SagaState } from "../../core/saga/state.ts";

/** The end of a saga, or its stall. */
export interface SagaEnd {
  /** The id of the saga. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  /** How it ended; STALLED if it needs an operator. */
  readonly status: "COMPLETED" | "FAILED" | "STALLED";
  /** The label of the failure; undefined if there is none. */
  readonly error: string | undefined;
}

/** Hears of ends. What it throws is ignored. */
export type EndListener = (end: SagaEnd) => void;

interface Ended {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly state: SagaState;
}

export class Ends {
  readonly #listeners = new Set<EndListener>();

  /** Returns how to stop listening. */
  listen(listener: EndListener): () => void {
    // Each listener counts by itself, also if one function is given twice.
    const own: EndListener = (end) => listener(end);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  tell({ id, name, version, state }: Ended): void {
    const { status } = state;
    if (this.#listeners.size === 0) return;
    if (status !== "COMPLETED" && status !== "FAILED" && status !== "STALLED") return;
    const error = state.failure?.label ?? state.stall?.label;
    for (const listener of this.#listeners) {
      try {
        listener({ id, name, version, status, error });
      } catch {
        // A program that fails to listen must not keep the saga from ending.
      }
    }
  }
}
