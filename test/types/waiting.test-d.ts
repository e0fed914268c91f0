import { Amends, saga, signal } from "amends";
import { event } from "amends/events";
import { sqlite, type SqliteHandle } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const input = z.object({ orderId: z.string(), sku: z.string() });
const approved = signal("approved", z.object({ by: z.string(), at: z.date() }));
const Paid = event("Paid", z.object({ orderId: z.string(), cents: z.number(), tags: z.array(z.string()) }));
const amends = new Amends<SqliteHandle>({ database: sqlite("shop.db") });

it("[S-25] a signal's payload is the step's result, as it is stored", () => {
  saga("a", input)
    .sleep("nap", "2h")
    .waitFor("approval", { signal: approved, timeout: "3d" })
    .step("ship", {
      act: ({ results }) => {
        expectTypeOf(results.approval).toEqualTypeOf<{ by: string; at: string }>();
        expectTypeOf(results.nap).toEqualTypeOf<undefined>();
        // @ts-expect-error there is no such field in the payload
        void results.approval.who;
      },
    });
});

it("[S-25] a wait that may be done without may have no result", () => {
  saga("a", input)
    .waitFor("approval", { signal: approved, timeout: "3d", onTimeout: "continue" })
    .waitFor("payment", {
      event: Paid,
      where: "orderId",
      equals: (run) => run.input.orderId,
      timeout: "1d",
      onTimeout: "continue",
    })
    .step("ship", {
      act: ({ results }) => {
        expectTypeOf(results.approval).toEqualTypeOf<{ by: string; at: string } | undefined>();
        expectTypeOf(results.payment?.cents).toEqualTypeOf<number | undefined>();
        // @ts-expect-error it may be undefined
        void results.approval.by;
      },
    });
});

it("[S-25] an event's field must exist, and what it is compared with must be of its type", () => {
  saga("a", input)
    .waitFor("payment", { event: Paid, where: "orderId", equals: (run) => run.input.orderId })
    .step("ship", {
      act: ({ results }) =>
        expectTypeOf(results.payment).toEqualTypeOf<{ orderId: string; cents: number; tags: string[] }>(),
    });
  saga("a", input).waitFor("payment", { event: Paid, where: "cents", equals: () => 7 });
  // @ts-expect-error the event has no field named order
  saga("a", input).waitFor("payment", { event: Paid, where: "order", equals: () => "o" });
  // @ts-expect-error a list cannot be compared
  saga("a", input).waitFor("payment", { event: Paid, where: "tags", equals: () => [] });
  // @ts-expect-error a number is compared with a number
  saga("a", input).waitFor("payment", { event: Paid, where: "cents", equals: (run) => run.input.orderId });
  saga("a", input).waitFor("payment", {
    event: Paid,
    where: "orderId",
    equals: (run) => {
      expectTypeOf(run.input).toEqualTypeOf<{ orderId: string; sku: string }>();
      // @ts-expect-error nothing has a result yet when the saga is started
      void run.results;
      return run.input.orderId;
    },
  });
  // @ts-expect-error nobody can tell which event belongs to the saga
  saga("a", input).waitFor("payment", { event: Paid });
});

it("[S-25][S-01] the name of a wait is taken like any other, and a wait needs something to wait for", () => {
  const napping = saga("a", input).sleep("nap", "2h");
  expectTypeOf(napping.sleep).toBeFunction();
  // @ts-expect-error there is already a step named "nap"
  napping.sleep("nap", "2h");
  // @ts-expect-error a duration has a unit
  saga("a", input).sleep("nap", "2 hours");
  // @ts-expect-error neither a signal nor an event
  saga("a", input).waitFor("approval", { timeout: "3d" });
});

it("[S-25][S-22] after the pivot a time limit cannot turn the saga back", () => {
  const forward = saga("a", input).pivot("charge", { act: () => 1 });
  forward.waitFor("approval", { signal: approved });
  forward.waitFor("approval", { signal: approved, timeout: "3d", onTimeout: "continue" });
  forward.waitFor("payment", { event: Paid, where: "orderId", equals: (run) => run.input.orderId });
  forward
    .sleep("nap", "1d")
    .step("mail", { act: ({ results }) => expectTypeOf(results.charge).toEqualTypeOf<number>() });
  // @ts-expect-error it must go on when its time is over
  forward.waitFor("approval", { signal: approved, timeout: "3d" });
  // @ts-expect-error and must not compensate
  forward.waitFor("approval", { signal: approved, timeout: "3d", onTimeout: "compensate" });
});

it("[S-25] what is sent must be what the signal carries", async () => {
  const sent = amends.signal("o-1", approved, { by: "ann", at: new Date() }, { id: "click-1" });
  expectTypeOf(sent).toEqualTypeOf<Promise<boolean>>();
  // @ts-expect-error a number is no name
  await amends.signal("o-1", approved, { by: 7, at: new Date() });
  // @ts-expect-error the payload is missing a field
  await amends.signal("o-1", approved, { by: "ann" });
  // @ts-expect-error a name alone is no signal
  await amends.signal("o-1", "approved", { by: "ann" });
  // @ts-expect-error this is no transaction of the database
  await amends.signal("o-1", approved, { by: "ann", at: new Date() }, { tx: 7 });
});
