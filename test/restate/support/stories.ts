/** The sagas that run on SQLite and on Restate, each with what is done to it from outside. Its input says nothing: the story does. */
import type { AnySaga, OperatorNote, SagaView, SignalType } from "../../../src/index.ts";
import type { Ledger } from "./ledger.ts";
import { forwardStories } from "./forward.ts";
import { backwardStories } from "./backward.ts";
import { waitingStories } from "./waiting.ts";

/** A saga from outside, on either engine. */
export interface Outside {
  signal(type: SignalType, payload: unknown, id?: string): Promise<boolean>;
  cancel(note: OperatorNote & { readonly pivotDidNotHappen?: boolean }): Promise<unknown>;
  retry(note: OperatorNote): Promise<unknown>;
  skip(step: string, note: OperatorNote & { readonly result?: unknown }): Promise<unknown>;
  resolve(as: "COMPLETED" | "FAILED", note: OperatorNote): Promise<unknown>;
  /** Waits until the saga has ended or is stalled. */
  result(): Promise<unknown>;
  /** Waits until the step has had this effect. */
  did(effect: string, times?: number): Promise<void>;
  /** Waits until the saga looks like this. */
  shows(isShown: (view: SagaView) => boolean): Promise<void>;
}

export interface Story {
  readonly saga: AnySaga;
  readonly meddle?: (outside: Outside) => Promise<unknown>;
}

export type Stories = Readonly<Record<string, Story>>;

export const NOTE: OperatorNote = { reason: "ticket 17", by: "ann" };

/** The same sagas in every process, by the name of the story. */
export function storiesOn(ledger: Ledger): Stories {
  return { ...forwardStories(ledger), ...backwardStories(ledger), ...waitingStories(ledger) };
}
