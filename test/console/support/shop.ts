/** Sagas to look at: one that completes, one that fails, one that stalls. */
import { err, saga } from "amends";
import { z } from "zod";
import type { TestDatabase } from "../../support/databases.ts";

const input = z.object({
  orderId: z.string(),
  end: z.enum(["COMPLETED", "FAILED", "STALLED"]),
  customer: z.object({ email: z.string() }).optional(),
});

export function orders(name: string = "place-order") {
  return saga(name, input, { compensateRetry: { attempts: 1 } })
    .step("reserve", { act: () => ({ reservation: "r-1" }), compensate: () => undefined })
    .step("charge", {
      act: ({ input: given }) => ({ receipt: given.customer?.email ?? "nobody" }),
      compensate: ({ input: given }) => {
        if (given.end === "STALLED") throw new RangeError("the bank is closed");
      },
    })
    .step("ship", { act: ({ input: given }) => (given.end === "COMPLETED" ? "sent" : err("no-stock")) });
}

export async function openShop(database: TestDatabase, options: Parameters<TestDatabase["amends"]>[0] = {}) {
  const order = orders();
  const amends = await database.amends({ ...options, sagas: [order] });
  const worker = amends.worker();
  return {
    amends,
    order,
    async run(end: "COMPLETED" | "FAILED" | "STALLED", id: string, email?: string): Promise<void> {
      await amends.start(
        order,
        { orderId: id, end, ...(email !== undefined && { customer: { email } }) },
        { id },
      );
      await worker.runOnce();
    },
  };
}
