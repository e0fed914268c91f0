/**
 * Work that begins in one process may continue in another, days later: its row stores the trace context as a W3C
 * traceparent. This interface hides the tracing library; without tracing, nothing is stored.
 */
import { createHash } from "node:crypto";

/** The description of a span. */
export interface SpanNote {
  /** The name of the span, such as "act place-order.charge". */
  readonly name: string;
  /** The OpenTelemetry kind of the span. */
  readonly kind: "internal" | "producer" | "consumer" | "client";
  /** Attributes of low cardinality, such as names. They are also labels of metrics. */
  readonly labels: Readonly<Record<string, string>>;
  /** Attributes of high cardinality: ids and numbers, never personal data. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The W3C traceparent of the parent span; undefined means the active span. */
  readonly parent: string | undefined;
}

/** Makes spans. `tracing()` of `amends/opentelemetry` returns one. */
export interface Tracer {
  /** The W3C traceparent of the active span; undefined if there is none. */
  current(): string | undefined;
  /**
   * Runs work in a span and passes it the traceparent of the span. `failure` returns a label for a result that counts
   * as a failure although nothing was thrown. `note` is called only if spans are recorded.
   */
  run<T>(
    note: () => SpanNote,
    work: (traceparent: string | undefined) => Promise<T>,
    failure?: (result: T) => string | undefined,
  ): Promise<T>;
}

export const untraced: Tracer = {
  current: () => undefined,
  run: (_note, work) => work(undefined),
};

/**
 * The trace of a saga, derived from its id: every step is in the same trace, whichever process runs it and when,
 * without storing anything.
 */
export function sagaTraceparent(sagaId: string): string {
  const hash = createHash("sha256").update(`amends:${sagaId}`).digest("hex");
  return `00-${hash.slice(0, 32)}-${hash.slice(32, 48)}-01`;
}

const TRACEPARENT = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The traceparent of a row; undefined if it is missing or not valid. */
export function readTraceparent(value: unknown): string | undefined {
  return typeof value === "string" && TRACEPARENT.test(value) ? value : undefined;
}
