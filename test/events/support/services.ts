/** Two services on one database: what they take, and what they have seen. */
import { ok } from "amends";
import { consumer, event, handler, type Consumer } from "amends/events";
import { z } from "zod";

export const Paid = event("Paid", z.object({ order: z.string() }));
export const Billed = event("Billed", z.object({ order: z.string() }));
export const NotBilled = event("NotBilled", z.object({ order: z.string() }));

/** A consumer of `Paid` that notes the orders in `seen`. */
export function listening(name: string, seen: string[]): Consumer<typeof Paid> {
  return consumer(name, { on: Paid, handle: ({ order }) => void seen.push(order) });
}

/** A handler of `Paid` that answers with `Billed`. */
export function billing(name: string, seen: string[]) {
  return handler(name, {
    on: Paid,
    ok: Billed,
    err: NotBilled,
    handle: ({ order }) => {
      seen.push(order);
      return ok(Billed({ order }));
    },
  });
}
