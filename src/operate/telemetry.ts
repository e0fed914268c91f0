/**
 * Traces and metrics through the OpenTelemetry API. For errors, only the label is recorded. The spans of a saga are in
 * a trace that is derived from its id; what a saga sends stores the trace in its row, so that later spans join it.
 */
import {
  context,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type SpanContext,
} from "@opentelemetry/api";
import { errorLabel } from "../core/errors.ts";
import { isErr } from "../core/result.ts";
import type { Counters } from "../sagas/engine/engine.ts";
import type { Database } from "../storage/database.ts";
import type { Amends } from "./amends.ts";
import { dueAges } from "./health/backlog.ts";
import { readTraceparent, sagaTraceparent, type SpanNote, type Tracer } from "../runtime/trace.ts";

const NAME = "amends";

const KINDS: Readonly<Record<SpanNote["kind"], SpanKind>> = {
  internal: SpanKind.INTERNAL,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
};

/** The span context of a saga. Link the span that starts the saga to it, so that each trace leads to the other. */
export function sagaTrace(sagaId: string): SpanContext {
  return spanContextOf(sagaTraceparent(sagaId)) as SpanContext;
}

function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  if (readTraceparent(traceparent) === undefined) return undefined;
  const [, traceId, spanId, flags] = (traceparent as string).split("-") as [string, string, string, string];
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function traceparentOf(span: SpanContext | undefined): string | undefined {
  if (!span) return undefined;
  const flags = span.traceFlags.toString(16).padStart(2, "0");
  return readTraceparent(`00-${span.traceId}-${span.spanId}-${flags}`);
}

/**
 * Returns a tracer that records a span and a duration for every start, act, compensation, call, handler and webhook
 * attempt.
 */
export function tracing(): Tracer {
  const tracer = trace.getTracer(NAME);
  const duration = metrics.getMeter(NAME).createHistogram("amends.call.duration", {
    unit: "ms",
    description: "How long acts, undos, calls, handlers and webhook attempts take.",
  });
  return {
    current: () => traceparentOf(trace.getSpanContext(context.active())),
    async run(describe, work, failure) {
      const note = describe();
      const parent = spanContextOf(note.parent);
      const above = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : context.active();
      const span = tracer.startSpan(
        note.name,
        {
          kind: KINDS[note.kind],
          attributes: { ...note.labels, ...note.attributes },
          links: linksTo(parent),
        },
        above,
      );
      const below: Context = trace.setSpan(above, span);
      const startedMs = performance.now();
      let outcome = "ok";
      const fail = (label: string): void => {
        span.setStatus({ code: SpanStatusCode.ERROR, message: label });
      };
      try {
        const result = await context.with(below, () => work(traceparentOf(span.spanContext())));
        const label = failure?.(result);
        if (label !== undefined) fail(label);
        outcome = label !== undefined ? "failed" : isErr(result) ? "err" : "ok";
        return result;
      } catch (error) {
        outcome = "thrown";
        fail(errorLabel(error));
        throw error;
      } finally {
        span.setAttribute("amends.outcome", outcome);
        span.end();
        const labels: Attributes = { ...note.labels, "amends.outcome": outcome };
        duration.record(performance.now() - startedMs, labels);
      }
    },
  };
}

/** Work that belongs elsewhere still says from where it was begun. */
function linksTo(parent: SpanContext | undefined): Link[] {
  const active = parent && trace.getSpanContext(context.active());
  return active && active.traceId !== parent.traceId ? [{ context: active }] : [];
}

/**
 * Reports counters of this process (`amends.sagas.started`, `.completed`, `.stalled` and so on), and how long the
 * oldest due work of each part has waited (`amends.due.age`). Returns a function that stops it.
 */
export function observe(amends: Amends): () => void {
  const meter = metrics.getMeter(NAME);
  const names = Object.keys(amends.counters) as (keyof Counters)[];
  const stops = names.map((name) => {
    const counter = meter.createObservableCounter(`amends.sagas.${name}`);
    const read: Parameters<typeof counter.addCallback>[0] = (result) => result.observe(amends.counters[name]);
    counter.addCallback(read);
    return () => counter.removeCallback(read);
  });
  const age = meter.createObservableGauge("amends.due.age", {
    unit: "ms",
    description: "How long the oldest due work of each part has waited.",
  });
  const look: Parameters<typeof age.addCallback>[0] = async (result) => {
    const { database } = amends.context;
    // Asked once, without retries: while the database does not answer, there is no value to report.
    const query: Database["query"] = (statement) => database.query(statement);
    const ages = await dueAges({ dialect: database.dialect, query }).catch(() => ({}));
    for (const [part, ms] of Object.entries(ages)) result.observe(ms, { "amends.part": part });
  };
  age.addCallback(look);
  return () => {
    for (const stop of stops) stop();
    age.removeCallback(look);
  };
}
