/** The saga of an order: accepted, paid for, confirmed. If the card is declined, the order is declined. */
import { Injectable } from "@nestjs/common";
import { err, ok, saga } from "amends";
import { transaction } from "amends/postgres";
import type { ClientBase } from "pg";
import { z } from "zod";
import { Payments } from "./payments.ts";

@Injectable()
export class PlaceOrder {
  constructor(private readonly payments: Payments) {}

  readonly saga = saga("place-order", z.object({ orderId: z.string(), cents: z.number() }))
    .step("accept", {
      transaction, // what `tx` writes commits together with the progress of the saga
      act: ({ input, tx }) => setStatus(tx, input.orderId, "accepted"),
      compensate: ({ input, tx }) => setStatus(tx, input.orderId, "declined"),
    })
    .pivot("charge", {
      timeout: "20s",
      act: async ({ input, key, signal }) =>
        (await this.payments.charge(input.cents, key, signal)) ? ok() : err("card-declined"),
    })
    .step("confirm", {
      transaction,
      act: ({ input, tx }) => setStatus(tx, input.orderId, "paid"),
    });
}

async function setStatus(tx: ClientBase, orderId: string, status: string): Promise<void> {
  await tx.query("update orders set status = $2 where id = $1", [orderId, status]);
}
