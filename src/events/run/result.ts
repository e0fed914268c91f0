/** The result of a handler's call. */
import type { EventValue } from "../define/event.ts";

/** A final result: the handler is not called again. */
export type FinalResult =
  | {
      readonly kind: "ok" | "err";
      /** Its answer; a consumer has none. */
      readonly event: EventValue | undefined;
      /** The events that it sends besides that. */
      readonly extras: readonly EventValue[];
    }
  | ExhaustedResult;

/** Its attempts are used up, or it threw a permanent error. */
export interface ExhaustedResult {
  readonly kind: "exhausted";
  readonly error: string;
  /** Stored beside the label if messages are kept. */
  readonly message?: string | undefined;
  /** The handler was never called: there is nothing to undo. */
  readonly unbegun?: boolean;
}

/** The handler is called again after this delay. */
export interface RetryResult {
  readonly kind: "retry";
  readonly waitMs: number;
  readonly error: string;
  /** Stored beside the label if messages are kept. */
  readonly message?: string | undefined;
  /** Not a failure: the handler only waits, and the claim does not count as an attempt. */
  readonly uncounted?: boolean;
}

export type HandlerResult = FinalResult | RetryResult;

/** The label of a step that failed because of its run's deadline. */
export const DEADLINE_PASSED = "DeadlinePassed";
