/** Another way where a step fails: the card service is down, so orders are paid by invoice until it is back. */
import { Amends, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { z } from "zod";

/** Somebody else's services. The card service takes the money and dies before it can say so. */
const cards = { isDown: true, calls: 0, taken: new Map<string, number>() };
const invoices = new Map<string, number>();

const order = saga("order", z.object({ cents: z.number().int() }))
  .step("charge", {
    act: ({ input, key }) => {
      cards.calls++;
      cards.taken.set(key, input.cents);
      if (cards.isDown) throw new Error("no answer");
      return { paid: "by card" };
    },
    // It may have taken the money: that is given back before the invoice is written.
    compensate: ({ actKey }) => void cards.taken.delete(actKey),
    retry: { attempts: 1 },
    fallback: {
      name: "invoice",
      act: ({ input, key }) => {
        invoices.set(key, input.cents);
        return { paid: "by invoice" };
      },
      compensate: ({ actKey }) => void invoices.delete(actKey),
      // After two failures in a row the card service is left alone for a minute; then one order may try.
      breaker: { threshold: 2, reset: "1m" },
    },
  })
  .step("ship", { act: ({ results }) => `paid ${results.charge.paid}` });

const clock = virtualClock();
const amends = new Amends({ database: sqlite(":memory:", { clock }), sagas: [order] });
await amends.migrate();
await amends.worker().start();

async function place(id: string): Promise<void> {
  const before = cards.calls;
  const outcome = await (await amends.start(order, { cents: 700 }, { id })).result();
  const how = outcome.status === "COMPLETED" ? outcome.results.ship : outcome.error?.label;
  console.log(`${id}: ${outcome.status}, ${how}, the card service was called ${cards.calls - before} times`);
}

await place("o-1");
await place("o-2");
await place("o-3"); // the circuit is open
cards.isDown = false;
await place("o-4"); // and stays open, though nothing is wrong any more
clock.jump(60_000);
await place("o-5"); // one order tries, and it works
await place("o-6");

const total = (book: Map<string, number>): number =>
  [...book.values()].reduce((sum, cents) => sum + cents, 0);
console.log(`by card ${total(cards.taken)}, by invoice ${total(invoices)}`);

const view = await amends.inspect("o-3");
for (const { name, action, status, note } of view?.timeline ?? [])
  console.log(`o-3: ${name} ${action} ${status}${note === undefined ? "" : `: ${note}`}`);
await amends.close();
