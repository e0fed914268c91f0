/** Sagas that wait: for an approval with a time limit, on time that is moved by hand, and for an event. */
import { Amends, saga, signal } from "amends";
import { event } from "amends/events";
import { sqlite } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { z } from "zod";

const DAY_MS = 86_400_000;

const approved = signal("approved", z.object({ by: z.string() }));
const PaymentReceived = event("PaymentReceived", z.object({ orderId: z.string(), cents: z.number().int() }));

const order = saga("order", z.object({ orderId: z.string() }))
  .step("reserve", {
    act: ({ input }) => console.log(`${input.orderId}: reserved`),
    compensate: ({ input }) => console.log(`${input.orderId}: released`),
  })
  .waitFor("approval", { signal: approved, timeout: "3d" })
  .waitFor("payment", {
    event: PaymentReceived,
    where: "orderId",
    equals: ({ input }) => input.orderId,
    timeout: "30d",
  })
  .sleep("cool-off", "2h")
  .step("ship", {
    act: ({ input, results }) =>
      console.log(
        `${input.orderId}: approved by ${results.approval.by}, paid ${results.payment.cents}, shipped`,
      ),
  });

const clock = virtualClock();
const amends = new Amends({ database: sqlite(":memory:", { clock }), sagas: [order] });
await amends.migrate();

/** Does whatever is due now, of sagas and of events. */
async function work(): Promise<void> {
  while ((await amends.worker().runOnce()) > 0);
}

async function show(id: string): Promise<void> {
  const view = await amends.inspect(id);
  const { waiting } = view ?? {};
  const days = waiting?.until && (waiting.until.getTime() - clock.virtualNowMs()) / DAY_MS;
  const what = waiting ? `, waits for ${waiting.kind} ${waiting.for ?? ""}`.trimEnd() : "";
  console.log(
    `${id}: ${view?.status}${what}${days === undefined ? "" : `, at most ${days.toFixed(1)} days more`}`,
  );
}

for (const orderId of ["o-1", "o-2"]) await amends.start(order, { orderId }, { id: orderId });
await work();
await show("o-1");

// The payment comes before the approval: it is kept. The approver clicks twice: that is one signal.
await amends.events.publish(PaymentReceived({ orderId: "o-1", cents: 1_200 }));
for (let click = 1; click <= 2; click++) {
  const isNew = await amends.signal("o-1", approved, { by: "ann" }, { id: "approval-of-o-1" });
  console.log(`click ${click}: ${isNew ? "sent" : "sent before"}`);
}
await work();
await show("o-1");

clock.jump(3 * DAY_MS); // nobody approves o-2, and o-1 has slept long enough
await work();
await show("o-1");
await show("o-2");
await amends.signal("o-2", approved, { by: "ann" }).catch((error: Error) => console.log(error.message));
await amends.close();
