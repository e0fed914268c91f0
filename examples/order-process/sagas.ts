/**
 * The order process of a shop: reserve each item, ask for an approval above a limit, send an invoice, remind every three days until
 * it is paid, ship through a saga of its own. Every step says how it is undone, so that an order that fails is taken back as far as
 * it came, and a completed one can be taken back as a whole.
 */
import { err, ok, saga, signal } from "amends";
import { event } from "amends/events";
import { transaction } from "amends/sqlite";
import { z } from "zod";
import type { Shop } from "./shop.ts";

export const Order = z.object({
  orderId: z.string(),
  items: z.array(z.object({ sku: z.string(), cents: z.number().int() })).min(1),
});

export const approved = signal("approved", z.object({ by: z.string() }));
export const rejected = signal("rejected", z.object({ by: z.string(), why: z.string() }));
export const PaymentReceived = event(
  "PaymentReceived",
  z.object({ orderId: z.string(), cents: z.number().int() }),
);

/** From this sum on a person has to approve the order. */
const APPROVAL_FROM_CENTS = 50_000;

const totalOf = ({ items }: z.output<typeof Order>): number =>
  items.reduce((sum, { cents }) => sum + cents, 0);

/** Ships an order. It has an id, a log and a page of its own, and runs in whichever process knows it. */
export const shipOrder = (shop: Shop) =>
  saga("ship-order", z.object({ orderId: z.string() }))
    .step("label", {
      act: ({ input, key }) => shop.makeLabel(input.orderId, key),
      compensate: ({ actKey }) => shop.cancelLabel(actKey),
    })
    .step("pickup", {
      act: ({ key }) => shop.callCarrier(key),
      compensate: ({ actKey }) => shop.sendBack(actKey),
    });

export const placeOrder = (shop: Shop, ship = shipOrder(shop)) =>
  saga("place-order", Order)
    .each("reserve", {
      over: ({ input }) => input.items,
      key: ({ sku }) => sku,
      act: ({ item, key }) => (shop.reserve(item.sku, key) ? ok() : err("sold-out")),
      compensate: ({ actKey }) => shop.release(actKey),
      concurrency: 5,
    })
    .when(
      "large",
      ({ input }) => totalOf(input) >= APPROVAL_FROM_CENTS,
      (branch) =>
        branch
          .waitFor("decision", {
            any: { approved: { signal: approved }, rejected: { signal: rejected }, late: "3d" },
          })
          .step("approval", {
            act: ({ results: { decision } }) =>
              decision.which === "approved" ? ok(decision.value.by) : err("not-approved"),
          }),
    )
    .step("invoice", {
      act: ({ input, key }) => shop.invoice(totalOf(input), key),
      compensate: ({ actKey }) => shop.voidInvoice(actKey),
    })
    .repeat("remind", {
      act: ({ input, round, key }) => shop.mail(`reminder ${round} for ${input.orderId}`, key),
      until: { event: PaymentReceived, where: "orderId", equals: ({ input }) => input.orderId },
      delay: "3d",
      every: "3d",
      max: 5,
      onMax: "fail",
    })
    .step("payment", {
      act: ({ results, key }) => shop.book(results.remind.received.cents, key),
      compensate: ({ actKey }) => shop.refund(actKey),
    })
    .saga("ship", ship, { input: ({ input }) => ({ orderId: input.orderId }) })
    .step("confirm", {
      act: ({ input, results, key }) =>
        shop.mail(`${input.orderId} is on its way: ${results.ship.results.label.parcel}`, key),
    })
    .onCompleted({
      transaction,
      act: ({ input, tx }) =>
        tx.prepare("update orders set state = 'shipped' where id = ?").run(input.orderId),
    })
    .onFailed({
      transaction,
      act: ({ input, step, tx }) =>
        tx.prepare("update orders set state = ? where id = ?").run(`cancelled at ${step}`, input.orderId),
    })
    .onReversed({
      transaction,
      act: ({ input, tx }) =>
        tx.prepare("update orders set state = 'returned' where id = ?").run(input.orderId),
    });
