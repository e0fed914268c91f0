/** What may be said of a step's fallback, as the compiler sees it. */
import type { Duration } from "../../../core/duration.ts";
import type { SagaFailure } from "../../view/outcome.ts";

/**
 * Selects failures by their labels, or by a predicate. A label is the code of an `err`, or the label of a thrown error.
 */
export type FailureFilter = readonly string[] | ((failure: SagaFailure) => boolean);

/** A circuit breaker: it stops calls to a step that keeps failing. Each worker process has its own. */
export interface BreakerOptions {
  /** The number of failures in a row that open the breaker. Default: 5. */
  readonly threshold?: number;
  /** How long the breaker stays open before one call may try again. Default: 30s. */
  readonly reset?: Duration;
  /** Failures that do not count. Default: none. */
  readonly exclude?: FailureFilter;
}

/** The name of a fallback, and when it runs. */
export interface FallbackTerms<Name> {
  /** The name of the fallback in the log and in its idempotency keys. */
  readonly name: Name;
  /** The failures that lead to the fallback. Default: every failure except `err`. */
  readonly when?: FailureFilter;
  /** While the breaker is open, the step is not called and the fallback runs at once. Default: none. */
  readonly breaker?: BreakerOptions;
  /** Not allowed: a fallback has no fallback of its own. */
  readonly fallback?: "A fallback has no fallback of its own.";
}
