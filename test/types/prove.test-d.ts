import { err, ok, saga, type SagaFailure } from "amends";
import { prove, type ProveReport } from "amends/testing";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

interface Shop {
  readonly charged: number;
}
const fakeShop = (): Shop => ({ charged: 0 });

const placeOrder = saga("place-order", z.object({ sku: z.string(), cents: z.number().default(0) }))
  .step("reserve", { act: () => ({ id: "r-1" }) })
  .step("charge", {
    act: ({ input }) => (input.cents > 9 ? err("declined" as const) : ok({ id: input.cents })),
  });

const orderOf = (_shop: Shop): typeof placeOrder => placeOrder;

it("[T-02] the input is what the saga's schema takes", () => {
  expectTypeOf(prove(placeOrder, { input: { sku: "tea" } })).resolves.toEqualTypeOf<ProveReport>();
  // @ts-expect-error a price is a number
  void prove(placeOrder, { input: { sku: "tea", cents: "7" } });
  // @ts-expect-error an input is asked for
  void prove(placeOrder, { world: fakeShop });
  // @ts-expect-error there is no such option
  void prove(placeOrder, { input: { sku: "tea" }, invariants: () => true });
});

it("[T-02] the world is known from what makes it, to the saga and to the invariant", () => {
  void prove(placeOrder, {
    input: { sku: "tea" },
    world: fakeShop,
    invariant: (world, outcome) => {
      expectTypeOf(world).toEqualTypeOf<Shop>();
      expectTypeOf(outcome.status).toEqualTypeOf<"COMPLETED" | "FAILED">();
      if (outcome.status === "COMPLETED") expectTypeOf(outcome.results.charge.id).toEqualTypeOf<number>();
      else expectTypeOf(outcome.error).toEqualTypeOf<SagaFailure<"declined">>();
    },
  });
  void prove(orderOf, { input: { sku: "tea" }, world: fakeShop, invariant: (shop) => shop.charged === 0 });
  void prove(
    (shop) => {
      expectTypeOf(shop).toEqualTypeOf<Shop>();
      return placeOrder;
    },
    { input: { sku: "tea" }, world: async () => fakeShop(), invariant: ({ charged }) => charged === 0 },
  );
  // @ts-expect-error the saga needs a shop
  void prove(orderOf, { input: { sku: "tea" }, world: () => 7 });
  // @ts-expect-error an invariant holds or does not
  void prove(placeOrder, { input: { sku: "tea" }, world: fakeShop, invariant: () => "fine" });
});

it("[T-02] errs and what is told are named by the saga's own steps", () => {
  void prove(placeOrder, { input: { sku: "tea" }, errs: { charge: "declined" } });
  // @ts-expect-error no step answers with this
  void prove(placeOrder, { input: { sku: "tea" }, errs: { charge: "sold out" } });
  // @ts-expect-error there is no such step
  void prove(placeOrder, { input: { sku: "tea" }, errs: { pay: "declined" } });
  void prove(placeOrder, {
    input: { sku: "tea" },
    tell: { reserve: (amends, id) => (expectTypeOf(id).toEqualTypeOf<string>(), amends.inspect(id)) },
  });
});
