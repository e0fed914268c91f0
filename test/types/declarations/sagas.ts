/** Sagas, without an annotation: with `declaration: true` the compiler has to name their types by entries of the package. */
import { Amends, err, ok, saga, sagaRef, signal, type Database } from "amends";
import { z } from "zod";

declare const database: Database;
const input = z.object({ orderId: z.string() });

export const approved = signal("approved", z.object({ by: z.string() }));
export const empty = saga("empty", input);
export const one = saga("one", input).step("reserve", { act: () => "r-1", compensate: () => undefined });
export const failing = one.step("charge", {
  act: () => (Math.random() > 0.5 ? ok({ charge: "c-1" }) : err("card-declined" as const)),
  fallback: { name: "invoice", act: () => err({ why: "limit" }) },
});
export const waiting = failing
  .sleep("nap", "1h")
  .waitFor("approval", { signal: approved, timeout: "1d", onTimeout: "continue" });
export const grouped = waiting.parallel("bookings", (group) =>
  group.step("flight", { act: () => 7 }).step("hotel", { act: () => err("full") }),
);
export const forward = grouped
  .pivot("ship", { act: () => ({ parcel: "p-1" }) })
  .parallel("tell", (group) => group.step("mail", { act: () => undefined }))
  .waitFor("receipt", { signal: approved })
  .step("close", { act: ({ results }) => results.ship.parcel });
export const reference = sagaRef("one", input);

export class Orders {
  readonly amends = new Amends({ database, sagas: [one, forward] });
  readonly saga = saga("field", input)
    .step("charge", { act: (context) => context })
    .pivot("ship", { act: () => 1 });
  readonly worker = this.amends.worker();
  readonly counters = this.amends.counters;

  place(orderId: string) {
    return this.amends.start(forward, { orderId }, { id: orderId });
  }
  async outcome(orderId: string) {
    return (await this.place(orderId)).result();
  }
  async steps(orderId: string) {
    const run = await this.amends.get(forward, orderId);
    return run.stream();
  }
  async plan(orderId: string) {
    const view = await this.amends.inspect(orderId);
    return { plan: view?.plan, timeline: view?.timeline, waiting: view?.waiting, step: view?.plan[0] };
  }
  archived(orderId: string) {
    return this.amends.archived(orderId);
  }
  attention() {
    return this.amends.attention.list();
  }
  counts() {
    return this.amends.attention.count();
  }
  report() {
    return this.worker.runOnce({ budget: "1s" });
  }
  parts() {
    const { events, calls, webhooks, erasure, retention, sync } = this.amends;
    return { events, calls, webhooks, erasure, retention, sync };
  }
}
