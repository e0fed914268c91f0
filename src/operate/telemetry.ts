/**
 * Traces and metrics through the OpenTelemetry API. A saga's trace id is derived from its id: whichever process runs a
 * step, today or after a restart in a week, its span is in the same trace, and nothing has to be stored for it. Of what
 * is thrown only the label is told.
 */
import { createHash } from "node:crypto";
import {
  context,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type SpanContext,
} from "@opentelemetry/api";
import { errorLabel } from "../core/errors.ts";
import { isErr } from "../core/result.ts";
import type { Middleware } from "../sagas/call.ts";
import type { Counters } from "../sagas/engine.ts";

const NAME = "amends";

/** Where a saga's spans belong. Link the span of whoever starts it to this, and the two are found from one another. */
export function sagaTrace(sagaId: string): SpanContext {
  const hash = createHash("sha256").update(`amends:${sagaId}`).digest("hex");
  return {
    traceId: hash.slice(0, 32),
    spanId: hash.slice(32, 48),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
}

/** A span for every act and every undo, and how long they take. `new Amends({ middleware: [tracing()] })`. */
export function tracing(): Middleware {
  const tracer = trace.getTracer(NAME);
  const duration = metrics.getMeter(NAME).createHistogram("amends.step.duration", {
    unit: "ms",
    description: "How long acts and undos take.",
  });
  return async ({ sagaId, saga, step, action, attempt }, next) => {
    const parent = trace.setSpanContext(ROOT_CONTEXT, sagaTrace(sagaId));
    const about: Attributes = { "amends.saga": saga, "amends.step": step, "amends.action": action };
    const attributes = { ...about, "amends.saga_id": sagaId, "amends.attempt": attempt };
    const span = tracer.startSpan(
      `${action} ${saga}.${step}`,
      { kind: SpanKind.INTERNAL, attributes },
      parent,
    );
    const startedMs = performance.now();
    let outcome = "ok";
    try {
      const result = await context.with(trace.setSpan(parent, span), next);
      if (isErr(result)) outcome = "err";
      return result;
    } catch (error) {
      outcome = "thrown";
      span.setStatus({ code: SpanStatusCode.ERROR, message: errorLabel(error) });
      throw error;
    } finally {
      span.setAttribute("amends.outcome", outcome);
      span.end();
      duration.record(performance.now() - startedMs, { ...about, "amends.outcome": outcome });
    }
  };
}

/** What this process did, as counters: `amends.sagas.started`, `.completed`, `.stalled` and so on. Returns how to stop. */
export function observe(amends: { readonly counters: Readonly<Counters> }): () => void {
  const meter = metrics.getMeter(NAME);
  const names = Object.keys(amends.counters) as (keyof Counters)[];
  const stops = names.map((name) => {
    const counter = meter.createObservableCounter(`amends.sagas.${name}`);
    const read: Parameters<typeof counter.addCallback>[0] = (result) => result.observe(amends.counters[name]);
    counter.addCallback(read);
    return () => counter.removeCallback(read);
  });
  return () => {
    for (const stop of stops) stop();
  };
}
