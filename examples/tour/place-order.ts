/** The saga of the tour: reserve, charge, ship, email. Shipping is the pivot: a parcel that is out stays out. */
import { Amends, err, ok, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { z } from "zod";
import type { Shop } from "./shop.ts";

const order = z.object({ sku: z.string(), cents: z.number().int(), address: z.string() });

export type Order = z.infer<typeof order>;

/** Short, so that nobody has to wait for the tour: a real shop leaves it at a minute. */
export const LEASE_MS = 2_000;

export function placeOrder(shop: Shop) {
  return saga("place-order", order, { compensateRetry: { attempts: 3, base: "200ms" } })
    .step("reserve", {
      act: ({ input, key }) => shop.reserve(input.sku, key),
      compensate: ({ actKey }) => shop.release(actKey),
    })
    .step("charge", {
      act: async ({ input, key }) => {
        const answer = await shop.charge(input.cents, key);
        return answer.declined ? err("card-declined") : ok({ chargeId: answer.id });
      },
      compensate: ({ actKey }) => shop.refund(actKey),
    })
    .pivot("ship", {
      act: async ({ input, key }) => {
        const shipment = await shop.book(input.address, key);
        return shipment === undefined ? err("no-courier") : ok({ shipment });
      },
    })
    .step("email", { act: ({ sagaId }) => shop.confirm(sagaId) });
}

export type PlaceOrder = ReturnType<typeof placeOrder>;

export function openAmends(file: string, definition: PlaceOrder): Amends {
  return new Amends({ database: sqlite(file), sagas: [definition], lease: LEASE_MS });
}
