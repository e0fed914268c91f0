/**
 * Services of somebody else's, as the examples need them: each remembers the idempotency keys that it has seen, so
 * that the same request again is the same request.
 */
const reservations = new Map<string, { readonly id: string; readonly sku: string }>();
const charges = new Map<string, { readonly id: string; readonly cents: number; refunded: boolean }>();

export const warehouse = {
  async reserve(sku: string, key: string): Promise<{ id: string; sku: string }> {
    const reservation = reservations.get(key) ?? { id: `r-${reservations.size + 1}`, sku };
    reservations.set(key, reservation);
    return reservation;
  },
  /** By the key of the reservation: it is known even where the reservation's id is not. */
  async release(key: string): Promise<void> {
    reservations.delete(key);
  },
  get reserved(): number {
    return reservations.size;
  },
};

export class PaymentsDown extends Error {}

export const payments = {
  down: false,
  async charge(
    cents: number,
    { key, signal }: { readonly key: string; readonly signal: AbortSignal },
  ): Promise<{ declined: boolean; id: string }> {
    signal.throwIfAborted();
    if (cents > 10_000) return { declined: true, id: "" };
    const charge = charges.get(key) ?? { id: `c-${charges.size + 1}`, cents, refunded: false };
    charges.set(key, charge);
    return { declined: false, id: charge.id };
  },
  async refund(key: string): Promise<void> {
    if (payments.down) throw new PaymentsDown("the payment service does not answer");
    const charge = charges.get(key);
    if (charge) charge.refunded = true;
  },
  get takings(): number {
    return [...charges.values()].reduce((sum, { cents, refunded }) => sum + (refunded ? 0 : cents), 0);
  },
};

export const carrier = {
  async book(reservationId: string): Promise<{ parcel: string }> {
    return { parcel: `p-${reservationId}` };
  },
};

export const mail = {
  async confirm(orderId: string): Promise<void> {
    console.log(`mail: order ${orderId} is on its way`);
  },
};
