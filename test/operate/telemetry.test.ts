import {
  context,
  metrics,
  trace,
  type Context,
  type Meter,
  type ObservableCallback,
  type Span,
  type SpanOptions,
  type Tracer,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { err, ok, saga } from "amends";
import { defineCall } from "amends/calls";
import { event, handler } from "amends/events";
import { observe, sagaTrace, tracing } from "amends/opentelemetry";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";

interface Recorded {
  readonly name: string;
  readonly traceId: string | undefined;
  readonly attributes: Record<string, unknown>;
  status?: unknown;
  ended: boolean;
}

afterEach(() => {
  trace.disable();
  context.disable();
});

const Placed = event("Placed", z.object({}));
const Passed = event("Passed", z.object({}));
const Over = event("Over", z.object({}));
const Refused = event("Refused", z.object({}));

/** The SDK, as an application would set it up, with spans in memory. */
function exporting() {
  const exporter = new InMemorySpanExporter();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  return () =>
    exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      id: span.spanContext().spanId,
      traceId: span.spanContext().traceId,
      parent: span.parentSpanContext?.spanId,
      attributes: span.attributes,
      status: span.status.message,
    }));
}

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
    const amends = await database.amends({ sagas: [order], tracing: tracing() });
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    expect(spans.map(({ name }) => name)).toEqual([
      "start order",
      "act order.reserve",
      "act order.check",
      "compensate order.check",
      "compensate order.reserve",
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([sagaTrace("o-1").traceId]));
    expect(sagaTrace("o-2").traceId).not.toBe(sagaTrace("o-1").traceId);
    expect(spans.every(({ ended }) => ended)).toBe(true);
    expect(spans[2]).toMatchObject({
      attributes: { "amends.saga_id": "o-1", "amends.attempt": 1, "amends.outcome": "thrown" },
      status: { message: "RangeError" },
    });
    expect(JSON.stringify(spans)).not.toContain("customer");
  });

  it("[P-05] what a saga sends carries its trace in the row: calls, handlers and webhook attempts of other processes are below it", async () => {
    const spans = exporting();
    const db = await database.open();
    const sender = {
      send: async () => ({ ok: false, code: "http_503", status: 503, durationMs: 1 }),
      checkUrl: () => undefined,
      close: async () => undefined,
    };
    const mail = defineCall("send-mail", { schema: z.object({}), handle: () => undefined });
    const first = handler("First", { on: Placed, ok: Passed, err: Refused, handle: () => ok(Passed({})) });
    const second = handler("Second", { on: Passed, ok: Over, err: Refused, handle: () => ok(Over({})) });
    const order = saga("order", z.object({})).step("place", {
      act: async () => {
        await db.transaction(async (_session, tx) => {
          await here.calls.enqueue(mail, {}, { tx });
          await here.webhooks.publish({ type: "order.placed", data: {} }, { tx });
        });
        await here.events.publish(Placed({}));
      },
    });
    const options = { tracing: tracing(), webhooks: { sender } };
    const here = await database.amends({ ...options, database: db, sagas: [order], events: [], calls: [] });
    await here.webhooks.subscribe({ url: "https://partner.example/secret-path", events: ["order.*"] });
    await here.start(order, {}, { id: "o-1" });
    await here.worker().runOnce();
    // Whoever does the rest knows nothing but the rows.
    const there = await database.amends({
      database: await database.open(),
      events: [first, second],
      calls: [mail],
      ...options,
    });
    const worker = there.worker();
    while ((await worker.runOnce()) > 0);
    const found = spans();
    expect(found.map(({ name }) => name).toSorted()).toEqual([
      "act order.place",
      "call send-mail",
      "deliver order.placed",
      "handle First",
      "handle Second",
      "start order",
    ]);
    const parents = Object.fromEntries(
      found.map(({ name, parent }) => [name, found.find(({ id }) => id === parent)?.name ?? parent]),
    );
    const { traceId, spanId } = sagaTrace("o-1");
    expect(parents).toEqual({
      "start order": spanId,
      "act order.place": spanId,
      "call send-mail": "act order.place",
      "deliver order.placed": "act order.place",
      "handle First": "act order.place",
      "handle Second": "handle First",
    });
    expect(new Set(found.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const attempt = found.find(({ name }) => name === "deliver order.placed");
    expect(attempt).toMatchObject({
      status: "http_503",
      attributes: { "server.address": "partner.example" },
    });
    expect(JSON.stringify(found)).not.toContain("secret-path");
  });

  it("[P-05] without tracing nothing is stored, and what somebody changed by hand is no trace", async () => {
    const db = await database.open();
    const first = handler("First", { on: Placed, ok: Passed, err: Refused, handle: () => ok(Passed({})) });
    const untraced = await database.amends({ database: db, events: [] });
    await untraced.events.publish(Placed({}));
    const column = await db.query(sql`select traceparent from ${db.dialect.table("outbox")}`);
    expect(column).toEqual([{ traceparent: null }]);
    await db.query(sql`update ${db.dialect.table("outbox")} set traceparent = '00-nonsense'`);
    const spans = exporting();
    const traced = await database.amends({ database: db, events: [first], tracing: tracing() });
    const worker = traced.worker();
    while ((await worker.runOnce()) > 0);
    expect(spans()).toMatchObject([{ name: "handle First", parent: undefined }]);
  });

  it("[P-05] how long due work of each part has waited is there as a gauge, and counters beside it", async () => {
    const callbacks = new Map<string, ObservableCallback>();
    const instrument = (name: string) => ({
      addCallback: (callback: ObservableCallback) => callbacks.set(name, callback),
      removeCallback: () => callbacks.delete(name),
    });
    const meter = { createObservableCounter: instrument, createObservableGauge: instrument };
    metrics.setGlobalMeterProvider({ getMeter: () => meter as unknown as Meter });
    try {
      const clock = virtualClock();
      const order = saga("order", z.object({})).step("ship", { act: () => 1 });
      const amends = await database.amends({ clock, sagas: [order] });
      const stop = observe(amends);
      await amends.start(order, {}, { id: "o-1" });
      await clock.advance(7_000);
      const seen: unknown[] = [];
      const result = { observe: (value: number, about?: object) => seen.push([value, about]) };
      await callbacks.get("amends.due.age")?.(result);
      await callbacks.get("amends.sagas.started")?.(result);
      expect(seen).toEqual([
        [7_000, { "amends.part": "sagas" }],
        [0, { "amends.part": "outbox" }],
        [0, { "amends.part": "events" }],
        [0, { "amends.part": "webhooks" }],
        [0, { "amends.part": "schedules" }],
        [1, undefined],
      ]);
      stop();
      expect(callbacks.size).toBe(0);
    } finally {
      metrics.disable();
    }
  });
});
