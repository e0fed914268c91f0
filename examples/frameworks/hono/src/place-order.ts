/** The saga of an order: accepted, paid for, confirmed. If the card is declined, the order is declined. */
import { err, ok, saga } from "amends";
import { transaction } from "amends/postgres";
import type { ClientBase } from "pg";
import { z } from "zod";

const payments = process.env.PAYMENTS_URL ?? "http://localhost:4000";

export const placeOrder = saga("place-order", z.object({ orderId: z.string(), cents: z.number() }))
  .step("accept", {
    transaction, // what `tx` writes commits together with the progress of the saga
    act: ({ input, tx }) => setStatus(tx, input.orderId, "accepted"),
    compensate: ({ input, tx }) => setStatus(tx, input.orderId, "declined"),
  })
  .pivot("charge", {
    timeout: "20s",
    act: async ({ input, key, signal }) => {
      const answer = await fetch(`${payments}/charges`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify({ cents: input.cents }),
        signal,
      });
      if (answer.status === 402) return err("card-declined");
      if (!answer.ok) throw new Error(`The payment service answered ${answer.status}.`); // tried again
      return ok();
    },
  })
  .step("confirm", {
    transaction,
    act: ({ input, tx }) => setStatus(tx, input.orderId, "paid"),
  });

async function setStatus(tx: ClientBase, orderId: string, status: string): Promise<void> {
  await tx.query("update orders set status = $2 where id = $1", [orderId, status]);
}
