/** Steps that act at the same time: two at once, and where one says no, what the others did is undone. */
import { Amends, err, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { z } from "zod";

/** Somebody else's booking systems: each answers when it answers. */
const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
let atOnce = 0;
let most = 0;

async function book(what: string, key: string): Promise<{ booking: string }> {
  most = Math.max(most, ++atOnce);
  await pause();
  atOnce--;
  return { booking: `${what} under ${key}` };
}

const trip = saga("trip", z.object({ guests: z.number().int() }))
  .parallel(
    "bookings",
    (group) =>
      group
        .step("flight", {
          act: ({ key }) => book("flight", key),
          compensate: ({ actKey }) => console.log(`  give back the flight under ${actKey}`),
        })
        .step("hotel", {
          // It does not see the flight: both act at the same time.
          act: async ({ input, key }) => (input.guests > 4 ? err("no-rooms") : await book("hotel", key)),
          compensate: ({ actKey }) => console.log(`  give back the hotel under ${actKey}`),
        })
        .step("car", {
          act: ({ key }) => book("car", key),
          compensate: ({ actKey }) => console.log(`  give back the car under ${actKey}`),
        }),
    { concurrency: 2 },
  )
  .step("confirm", {
    act: ({ results: { flight, hotel, car } }) => [flight, hotel, car].map(({ booking }) => booking),
  });

const amends = new Amends({ database: sqlite(":memory:"), sagas: [trip] });
await amends.migrate();
await amends.worker().start();

const couple = await (await amends.start(trip, { guests: 2 }, { id: "t-1" })).result();
console.log("t-1", couple.status, couple.status === "COMPLETED" && couple.results.confirm);
console.log(`at most ${most} at once`);

const family = await (await amends.start(trip, { guests: 6 }, { id: "t-2" })).result();
console.log("t-2", family.status, family.status === "FAILED" && `${family.step}: ${family.error.label}`);
await amends.close();
