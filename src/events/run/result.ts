/** How the call of a handler ended. */
import type { EventValue } from "../define/event.ts";

/** The handler is not called again: this is what came of it. */
export type FinalResult =
  | {
      readonly kind: "ok" | "err";
      readonly event: EventValue;
      /** The events that it sends besides its answer. */
      readonly extras: readonly EventValue[];
    }
  | ExhaustedResult;

/** Its attempts are used up, or it threw what another attempt cannot change. */
export interface ExhaustedResult {
  readonly kind: "exhausted";
  readonly error: string;
  /** Stored beside the label if messages are kept. */
  readonly message?: string | undefined;
  /** It was never called: there is nothing of it to undo. */
  readonly unbegun?: boolean;
}

/** It is called again after this long. */
export interface RetryResult {
  readonly kind: "retry";
  readonly waitMs: number;
  readonly error: string;
  /** Stored beside the label if messages are kept. */
  readonly message?: string | undefined;
  /** Nothing went wrong: it only waits, and the claim does not count as an attempt. */
  readonly uncounted?: boolean;
}

export type HandlerResult = FinalResult | RetryResult;

/** The label of a step whose run had no time left. */
export const DEADLINE_PASSED = "DeadlinePassed";
