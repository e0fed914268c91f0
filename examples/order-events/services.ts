/** Four services, each with its own events and handlers. None of them knows that the others exist, or that there is a saga. */
import { err, event, handler, ok } from "amends/events";
import { z } from "zod";

const order = z.object({ orderId: z.string(), sku: z.string(), cents: z.number(), address: z.string() });
const only = z.object({ orderId: z.string() });
const refused = z.object({ orderId: z.string(), why: z.string() });

export const OrderPlaced = event("OrderPlaced", order);
export const OrderConfirmed = event("OrderConfirmed", only);
export const OrderRejected = event("OrderRejected", refused);

export const stock = new Map([["tea", 3]]);
export const StockReserved = event("StockReserved", order);
export const OutOfStock = event("OutOfStock", refused);
export const ReleaseStock = event("ReleaseStock", only);
export const StockReleased = event("StockReleased", only);
const reservations = new Map<string, string>();
export const reserve = handler("warehouse.reserve", {
  on: OrderPlaced,
  ok: StockReserved,
  err: OutOfStock,
  handle: (placed) => {
    const { orderId, sku, cents, address } = placed;
    const left = stock.get(sku) ?? 0;
    if (left === 0) return err(OutOfStock({ orderId, why: `no ${sku}` }));
    stock.set(sku, left - 1);
    reservations.set(orderId, sku);
    return ok(StockReserved({ orderId, sku, cents, address }));
  },
});
export const release = handler("warehouse.release", {
  on: ReleaseStock,
  ok: StockReleased,
  err: OutOfStock,
  handle: ({ orderId }) => {
    const sku = reservations.get(orderId);
    if (sku !== undefined) stock.set(sku, (stock.get(sku) ?? 0) + 1);
    reservations.delete(orderId);
    return ok(StockReleased({ orderId }));
  },
});

export let takings = 0;
const charges = new Map<string, number>();
export const PaymentTaken = event("PaymentTaken", order);
export const PaymentDeclined = event("PaymentDeclined", refused);
export const RefundPayment = event("RefundPayment", only);
export const PaymentRefunded = event("PaymentRefunded", only);
export const charge = handler("payments.charge", {
  on: StockReserved,
  ok: PaymentTaken,
  err: PaymentDeclined,
  handle: ({ orderId, sku, cents, address }) => {
    if (cents > 10_000) return err(PaymentDeclined({ orderId, why: "limit" }));
    charges.set(orderId, cents);
    takings += cents;
    return ok(PaymentTaken({ orderId, sku, cents, address }));
  },
});
export const refund = handler("payments.refund", {
  on: RefundPayment,
  ok: PaymentRefunded,
  err: PaymentDeclined,
  handle: ({ orderId }) => {
    takings -= charges.get(orderId) ?? 0;
    charges.delete(orderId);
    return ok(PaymentRefunded({ orderId }));
  },
});

export const ParcelSent = event("ParcelSent", order);
export const NoCourier = event("NoCourier", refused);
export const ship = handler("shipping.send", {
  on: PaymentTaken,
  ok: ParcelSent,
  err: NoCourier,
  handle: ({ orderId, sku, cents, address }) =>
    address === "the moon"
      ? err(NoCourier({ orderId, why: address }))
      : ok(ParcelSent({ orderId, sku, cents, address })),
});

export const CustomerTold = event("CustomerTold", only);
export const NobodyThere = event("NobodyThere", refused);
export const tell = handler("mail.confirm", {
  on: ParcelSent,
  ok: CustomerTold,
  err: NobodyThere,
  retry: { attempts: 5, base: "200ms" },
  handle: ({ orderId }) => ok(CustomerTold({ orderId })),
});
