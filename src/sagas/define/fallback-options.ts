/** What may be said of a step's fallback, as the compiler sees it. */
import type { Duration } from "../../core/duration.ts";
import type { SagaFailure } from "../view/outcome.ts";

/** Labels of failures, or a question that is asked of each. A label is the code of an `err`, or what was thrown. */
export type FailureFilter = readonly string[] | ((failure: SagaFailure) => boolean);

/** Keeps calls away from what fails again and again. Each worker process has its own. */
export interface BreakerOptions {
  /** How many failures in a row open the circuit. Default: 5. */
  readonly threshold?: number;
  /** How long the circuit stays open before one call may try again. Default: 30s. */
  readonly reset?: Duration;
  /** Failures that say nothing against what was called. */
  readonly exclude?: FailureFilter;
}

/** When a fallback takes over, and under which name it does. */
export interface FallbackTerms<Name> {
  /** Under this name it is in the log, and its calls have their keys. */
  readonly name: Name;
  /** The failures that it is for. Without it: all trouble, and no `err`, which is an answer. */
  readonly when?: FailureFilter;
  /** While it is open, the step is not called and its fallback acts at once. */
  readonly breaker?: BreakerOptions;
  /** Not for a fallback. */
  readonly fallback?: "A fallback has no fallback of its own.";
}
