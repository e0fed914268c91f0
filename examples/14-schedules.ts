/** A saga that starts every night at three in Berlin, over a change of the clocks, a night without a worker and a pause. */
import { Amends, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { z } from "zod";

const HOUR_MS = 3_600_000;

const invoice = saga("invoice", z.object({ region: z.string() })).step("send", {
  act: ({ sagaId, input }) => console.log(`${sagaId}: invoices of ${input.region} sent`),
});

const clock = virtualClock(Date.parse("2026-10-24T12:00:00Z"));
const amends = new Amends({ database: sqlite(":memory:", { clock }), sagas: [invoice] });
await amends.migrate();

// The same call at every start of your program puts the schedule once.
const put = await amends.schedules.put("nightly-invoices", {
  cron: "0 3 * * *",
  timezone: "Europe/Berlin",
  saga: invoice,
  input: { region: "eu" },
});
console.log(put.change, put.nextAt?.toISOString());

/** Moves time and runs what is due, as a worker does that never sleeps. */
async function pass(hours: number): Promise<void> {
  clock.jump(hours * HOUR_MS);
  await amends.worker().runOnce({ budget: "1m" });
}

await pass(14); // 02:00Z: the clocks have gone back, so that three o'clock is an hour later than yesterday
await pass(24);
await pass(48); // no worker ran last night: its tick is missed, and the latest one starts

await amends.schedules.pause("nightly-invoices", { reason: "the bank is down", by: "ann" });
await pass(24);
await amends.schedules.resume("nightly-invoices", { reason: "the bank is back", by: "ann" });
await amends.schedules.run("nightly-invoices", { reason: "make up for last night", by: "ann" });
await pass(0);

const schedule = await amends.schedules.get("nightly-invoices", { nextTicks: 2 });
for (const { at, outcome, run, sagaStatus } of schedule?.lastTicks ?? [])
  console.log(at.toISOString(), outcome, run ? "by an operator" : "", sagaStatus ?? "");
console.log("next", schedule?.nextTicks.map(({ at }) => at.toISOString()).join(", "));
await amends.close();
