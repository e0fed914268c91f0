/** Two services that have handlers for the same event. */
import { ok, type Logger } from "amends";
import { event, handler } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";

const Paid = event("Paid", z.object({}));
const Done = event("Done", z.object({}));
const NotDone = event("NotDone", z.object({}));

function handling(name: string) {
  return handler(name, { on: Paid, ok: Done, err: NotDone, handle: () => ok(Done({})) });
}

onEachDatabase((database) => {
  it("[F-17] a worker says at its start that another service handles the same event", async () => {
    const said: unknown[] = [];
    const note: Logger["warn"] = (fields, message) => void said.push({ ...fields, message });
    const logger: Logger = { info: note, warn: note, error: note };
    const billing = await database.amends({ events: [handling("bill")] });
    await billing.events.publish(Paid({}));
    const shipping = await database.amends({ events: [handling("ship")], logger });
    await database.worker(shipping);
    expect(said).toEqual([
      {
        event: "Paid",
        handler: "bill",
        ours: ["ship"],
        message: expect.stringContaining("another service has a handler for this event too") as string,
      },
    ]);
    const both = await database.amends({ events: [handling("ship"), handling("bill")], logger });
    await database.worker(both);
    expect(said).toHaveLength(1);
  });
});
