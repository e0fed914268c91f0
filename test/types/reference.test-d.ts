import { Amends, saga, sagaRef, type SagaReference } from "amends";
import { event } from "amends/events";
import type { ReferenceTo } from "amends/sagas";
import { sqlite } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const schema = z.object({ orderId: z.string() });
const Paid = event("Paid", z.object({ orderId: z.string(), cents: z.number() }));
const order = saga("order", schema).step("charge", { act: () => ({ chargeId: "c-1" }) });

it("[S-47] a reference types the input, and by its definition the results", async () => {
  const amends = new Amends({ database: sqlite(":memory:") });
  const plain = sagaRef("order", schema);
  expectTypeOf(plain).toEqualTypeOf<SagaReference<{ orderId: string }, { orderId: string }>>();
  // @ts-expect-error orderId is a text
  void amends.start(plain, { orderId: 1 });
  const typed: ReferenceTo<typeof order> = sagaRef("order", schema);
  const outcome = await (await amends.start(typed, { orderId: "o-1" })).result();
  if (outcome.status === "COMPLETED") expectTypeOf(outcome.results.charge.chargeId).toEqualTypeOf<string>();
});

it("[S-47] a wait in a reference compares fields of the same type", () => {
  const reference = sagaRef("order", schema);
  const waits = {
    event: Paid,
    where: "orderId",
    equals: ({ input }: { input: { orderId: string } }) => input.orderId,
  } as const;
  expectTypeOf(reference.waitFor("paid", waits)).toEqualTypeOf<typeof reference>();
  // @ts-expect-error cents is a number
  reference.waitFor("paid", { event: Paid, where: "cents", equals: ({ input }) => input.orderId });
  // @ts-expect-error the event has no such field
  reference.waitFor("paid", { event: Paid, where: "id", equals: ({ input }) => input.orderId });
});
