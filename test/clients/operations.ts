/** Every operation that takes a `tx`, in one transaction of the client. */
import { approved, order, OrderPlaced, sendMail, type Shop } from "./shop.ts";

/** A text that must be quoted wherever texts are put together. */
export function skuOf(n: number): string {
  return `O'Neil "№${n}" \\ {null,} $1 ? ?? :name`;
}

/** An order, written by the application and handed to every part of Amends. */
export async function placeOrder({ amends, client }: Shop, tx: unknown, n: number = 1): Promise<void> {
  const sku = skuOf(n);
  await client.write(tx, `order ${n}`);
  await amends.start(order, { sku }, { id: `order-${n}`, tx });
  await amends.start(order, { sku: "" }, { id: `second-${n}`, tx });
  await amends.signal(`order-${n}`, approved, { by: "ann" }, { id: `approval-${n}`, tx });
  await amends.events.publish([OrderPlaced({ sku }), OrderPlaced({ sku: "" })], { tx });
  await amends.webhooks.publish(
    { type: "order.placed", data: { sku }, id: `order-${n}`, attributes: { sku } },
    { tx },
  );
  await amends.calls.enqueue(sendMail, { sku }, { id: `mail-${n}`, delay: "1d", tx });
  const daily = { cron: "0 3 * * *", saga: order, input: { sku }, jitter: "10m" } as const;
  await amends.schedules.put(`daily-${n}`, daily, { tx });
  await amends.schedules.put(`daily-${n}`, { ...daily, timezone: "Europe/Berlin" }, { tx });
  await amends.schedules.put(`other-${n}`, daily, { tx });
  await amends.schedules.remove(`other-${n}`, { reason: "a test", tx });
  await amends.erasure.eraseSubject(`user-${2 * n - 1}`, [], { tx });
  const correction = { category: "name", value: "Corrected" } as const;
  await amends.erasure.rectifySubject(`user-${2 * n}`, [correction], [], { tx });
}
