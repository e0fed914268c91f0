/** An order as a saga: reserve, charge, ship, email. Shipping is the pivot: a parcel that is out stays out. */
import { err, ok, saga } from "amends";
import { z } from "zod";
import type { Services } from "./services.ts";

const order = z.object({
  customer: z.string(),
  sku: z.string(),
  cents: z.number().int(),
  address: z.string(),
});

export type Order = z.infer<typeof order>;

export function placeOrder(services: Services) {
  return saga("place-order", order, { compensateRetry: { attempts: 3, base: "200ms" } })
    .step("reserve", {
      act: ({ input, key, signal }) => services.reserve(input.sku, { key, signal }),
      compensate: ({ actKey, key, signal }) => services.release(actKey, { key, signal }),
    })
    .step("charge", {
      act: async ({ input, key, signal }) => {
        const charge = await services.charge(input.cents, { key, signal });
        return charge === undefined ? err("card-declined") : ok({ chargeId: charge.id });
      },
      compensate: ({ actKey, key, signal }) => services.refund(actKey, { key, signal }),
    })
    .pivot("ship", {
      act: async ({ input, key, signal }) => {
        const parcel = await services.ship(input.address, { key, signal });
        return parcel === undefined ? err("no-courier") : ok({ parcel: parcel.id });
      },
    })
    .step("email", { act: ({ sagaId, key, signal }) => services.confirm(sagaId, { key, signal }) });
}

export type PlaceOrder = ReturnType<typeof placeOrder>;
