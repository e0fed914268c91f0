/** Traces and metrics, for whoever uses OpenTelemetry: needs `@opentelemetry/api` beside it. */
export { observe, sagaTrace, tracing } from "./operate/telemetry.ts";
export { type SpanNote, type Tracer } from "./runtime/trace.ts";
