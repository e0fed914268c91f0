/**
 * Work that begins in one process goes on in another, perhaps days later: what it belongs to travels with its row, as a
 * W3C traceparent. Whoever traces is behind this interface; without one, nothing is stored and nothing costs anything.
 */
import { createHash } from "node:crypto";

/** What a span is made of. */
export interface SpanNote {
  /** The name of the span. */
  readonly name: string;
  /** The kind of the span, as OpenTelemetry names it. */
  readonly kind: "internal" | "producer" | "consumer" | "client";
  /** Names, of which there are few: they are labels of metrics, too. */
  readonly labels: Readonly<Record<string, string>>;
  /** Ids and numbers. Never personal data. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The traceparent of what brought it on; undefined where that is whatever is under way here. */
  readonly parent: string | undefined;
}

/** Makes spans. `tracing()` of `amends/opentelemetry` is one. */
export interface Tracer {
  /** The traceparent of whatever is under way here. */
  current(): string | undefined;
  /**
   * Runs work in a span, and gives it the span's traceparent. `failure` is the label of a result that is a failure
   * although nothing was thrown. The note is asked for where somebody traces.
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
 * Where everything of a saga belongs, derived from its id: whichever process runs a step, today or after a restart in
 * a week, it is in the same trace, and nothing has to be stored for it.
 */
export function sagaTraceparent(sagaId: string): string {
  const hash = createHash("sha256").update(`amends:${sagaId}`).digest("hex");
  return `00-${hash.slice(0, 32)}-${hash.slice(32, 48)}-01`;
}

const TRACEPARENT = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** What stands in a row: undefined where it is none, or somebody changed it. */
export function readTraceparent(value: unknown): string | undefined {
  return typeof value === "string" && TRACEPARENT.test(value) ? value : undefined;
}
