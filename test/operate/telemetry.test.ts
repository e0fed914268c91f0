import { trace, type Context, type Span, type SpanOptions, type Tracer } from "@opentelemetry/api";
import { err, saga } from "amends";
import { sagaTrace, tracing } from "amends/opentelemetry";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";

interface Recorded {
  readonly name: string;
  readonly traceId: string | undefined;
  readonly attributes: Record<string, unknown>;
  status?: unknown;
  ended: boolean;
}

afterEach(() => trace.disable());

/** A provider as an application would register one: it only remembers. */
function recording(): Recorded[] {
  const spans: Recorded[] = [];
  const startSpan = (name: string, options: SpanOptions = {}, parent?: Context): Span => {
    const span: Recorded = {
      name,
      traceId: parent && trace.getSpanContext(parent)?.traceId,
      attributes: { ...options.attributes },
      ended: false,
    };
    spans.push(span);
    const made: Partial<Span> = {
      setAttribute: (key, value) => {
        span.attributes[key] = value;
        return made as Span;
      },
      setStatus: (status) => {
        span.status = status;
        return made as Span;
      },
      end: () => {
        span.ended = true;
      },
      spanContext: () => sagaTrace("any"),
    };
    return made as Span;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as unknown as Tracer });
  return spans;
}

onEachDatabase((database) => {
  it("[P-05] every act and undo of a saga is a span in one trace, whichever process runs it", async () => {
    const spans = recording();
    const define = () =>
      saga("order", z.object({}), { compensateRetry: { attempts: 1 } })
        .step("reserve", { act: () => 1, compensate: () => undefined })
        .step("check", {
          act: () => {
            throw new RangeError("a customer's name");
          },
          retry: { attempts: 1 },
          compensate: () => undefined,
        })
        .step("ship", { act: () => err("no-stock") });
    const order = define();
    const amends = await database.amends({ sagas: [order], middleware: [tracing()] });
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    expect(spans.map(({ name }) => name)).toEqual([
      "act order.reserve",
      "act order.check",
      "compensate order.check",
      "compensate order.reserve",
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([sagaTrace("o-1").traceId]));
    expect(sagaTrace("o-2").traceId).not.toBe(sagaTrace("o-1").traceId);
    expect(spans.every(({ ended }) => ended)).toBe(true);
    expect(spans[1]).toMatchObject({
      attributes: { "amends.saga_id": "o-1", "amends.attempt": 1, "amends.outcome": "thrown" },
      status: { message: "RangeError" },
    });
    expect(JSON.stringify(spans)).not.toContain("customer");
  });
});
