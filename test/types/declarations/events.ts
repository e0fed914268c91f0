/** Events, handlers and sagas over them, without an annotation. */
import { ok, saga, type Amends } from "amends";
import { event, eventSaga, handler, sagaHandler, SagaRegistry, step } from "amends/events";
import { z } from "zod";

declare const amends: Amends;

export const Placed = event("Placed", z.object({ orderId: z.string() }));
export const Reserved = event("Reserved", z.object({ orderId: z.string() }));
export const Gone = event("Gone", z.object({ orderId: z.string() }));
export const Release = event("Release", z.object({ orderId: z.string() }));
export const placed = Placed({ orderId: "o-1" });

export const reserve = handler("reserve", {
  on: Placed,
  ok: Reserved,
  err: Gone,
  handle: ({ orderId }) => ok(Reserved({ orderId })),
});
export const schedule = reserve.retry;
export const answer = reserve.handle;
export const order = saga("order", z.object({ orderId: z.string() })).step("charge", { act: () => 1 });
export const charge = sagaHandler("charge", {
  saga: order,
  on: Reserved,
  ok: Placed,
  err: Gone,
  input: ({ orderId }) => ({ orderId }),
  completed: ({ orderId }) => Placed({ orderId }),
  failed: ({ orderId }) => Gone({ orderId }),
});
export const reserving = step("reserve", reserve, { compensation: Release });
export const flow = eventSaga("flow", {
  trigger: Placed,
  correlate: "orderId",
  steps: [reserving],
  onCompleted: (orderId) => Reserved({ orderId }),
  onFailed: (orderId) => Gone({ orderId }),
});
export const registry = new SagaRegistry([flow, reserve]);
export const found = registry.saga("flow");

export function publish() {
  return amends.events.publish(placed);
}
export function read(id: string) {
  return amends.events.runs("flow", id);
}
export function steps() {
  return amends.events.steps("flow");
}
