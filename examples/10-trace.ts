/**
 * One trace over all that an order brings on: its start, its steps, the call and the webhook that a step sends in its
 * transaction, and the handler of the event that it emits. What it belongs to travels with each row, so that it would be
 * the same trace in other processes, and after a restart. An application registers its own exporter; here spans are kept
 * in memory and drawn as a tree.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { Amends, ok, saga } from "amends";
import { defineCall } from "amends/calls";
import { event, handler } from "amends/events";
import { sagaTrace, tracing } from "amends/opentelemetry";
import { sqlite, transaction, type SqliteHandle } from "amends/sqlite";
import { z } from "zod";

const spans = new InMemorySpanExporter();
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));

const Placed = event("OrderPlaced", z.object({ orderId: z.string() }));
const Counted = event("StockCounted", z.object({ orderId: z.string() }));
const NotCounted = event("StockNotCounted", z.object({ orderId: z.string() }));
const countStock = handler("CountStock", {
  on: Placed,
  ok: Counted,
  err: NotCounted,
  handle: ({ orderId }) => ok(Counted({ orderId })),
});

const sendMail = defineCall("send-mail", { schema: z.object({ to: z.string() }), handle: () => undefined });

const placeOrder = saga("place-order", z.object({ orderId: z.string() }))
  .step("reserve", { act: () => ({ reservation: "r-1" }), compensate: () => undefined })
  .step("place", {
    transaction,
    act: async (step) => {
      const { input, tx } = step;
      await amends.calls.enqueue(sendMail, { to: "ann" }, { tx });
      await amends.webhooks.publish({ type: "order.placed", data: input }, { tx });
      step.emit(Placed(input));
    },
  });

const partner: Server = createServer((_request, response) => response.writeHead(204).end());
await new Promise<void>((resolve) => partner.listen(0, "127.0.0.1", resolve));
const { port } = partner.address() as AddressInfo;

const amends: Amends<SqliteHandle> = new Amends({
  database: sqlite(":memory:"),
  sagas: [placeOrder],
  events: [countStock],
  calls: [sendMail],
  tracing: tracing(),
  webhooks: { sending: { allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"] } },
});
await amends.migrate();
await amends.webhooks.subscribe({ url: `http://127.0.0.1:${port}/hook`, events: ["order.*"] });

await amends.start(placeOrder, { orderId: "o-1" }, { id: "o-1" });
const worker = amends.worker();
while ((await worker.runOnce()) > 0);

/** The root is the saga itself: its trace is derived from its id. */
const { traceId, spanId: root } = sagaTrace("o-1");
const found = spans.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
function draw(parent: string, depth: number): void {
  for (const span of found.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)) {
    console.log(`${"  ".repeat(depth)}${span.name}: ${String(span.attributes["amends.outcome"])}`);
    draw(span.spanContext().spanId, depth + 1);
  }
}
console.log("saga o-1");
draw(root, 1);

await amends.close();
partner.close();
