/**
 * Proving a saga: it is run with a crash, a failure and a timeout at every call, and in each case the order must be paid
 * and shipped, or neither. The first saga forgets to pass its key on, which no test of the happy way would show.
 */
import { AmendsError, err, ok, saga } from "amends";
import { prove } from "amends/testing";
import { z } from "zod";

/** The services that the saga calls, as fakes: what happened under a key happens once. */
class FakeShop {
  readonly payments = new Map<string, number>();
  readonly parcels = new Set<string>();
  readonly stock = new Set<string>();

  get paid(): number {
    return [...this.payments.values()].reduce((sum, cents) => sum + cents, 0);
  }
}

const order = z.object({ orderId: z.string(), cents: z.number().int() });

/** A saga that is made of the services that it calls: in production the real ones, here the fakes. */
const placeOrder = (shop: FakeShop, keyFor: (key: string) => string) =>
  saga("place-order", order)
    .step("reserve", {
      act: ({ key }) => void shop.stock.add(key),
      compensate: ({ actKey }) => void shop.stock.delete(actKey),
    })
    .step("charge", {
      act: ({ input, key }) => {
        if (input.cents > 10_000) return err("card-declined");
        const charge = keyFor(key);
        shop.payments.set(charge, input.cents);
        return ok({ charge });
      },
      compensate: ({ result, actKey }) => void shop.payments.delete(result?.charge ?? actKey),
      retry: { attempts: 3, base: "200ms" },
      timeout: "30s",
    })
    .pivot("ship", { act: ({ key }) => void shop.parcels.add(key) });

const terms = {
  input: { orderId: "o-1", cents: 1_200 },
  world: () => new FakeShop(),
  errs: { charge: "card-declined" },
  invariant: ({ paid, parcels, stock }: FakeShop) =>
    paid === parcels.size * 1_200 && stock.size === parcels.size,
} as const;

// A new number for every call, instead of the key: after a crash the customer pays again.
let calls = 0;
try {
  await prove((shop) => placeOrder(shop, () => `charge-${(calls += 1)}`), terms);
} catch (error) {
  if (!(error instanceof AmendsError)) throw error;
  console.log(error.message);
}

const report = await prove((shop) => placeOrder(shop, (key) => key), terms);
console.log(`proven by ${report.schedules} schedules; in ${report.stalled.length} of them a person decides`);
