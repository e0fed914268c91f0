import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { erase, shop } from "./support/shop.ts";

onEachDatabase((database) => {
  it("[O-04] a batch comes back oldest first, also where the newer entries were picked first", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    for (const subject of ["first", "second"]) {
      await world.enqueue(erase(subject));
      await clock.advance(1);
    }
    for (const entry of await world.outbox.claimBatch())
      await world.outbox.markFailed(entry, { error: "Busy", waitMs: 0 });
    await world.enqueue(erase("third"));
    // One that was never tried comes before those that failed, if there is room for one.
    const batch = await world.outbox.claimBatch(2);
    expect(batch.map(({ subjectId }) => subjectId)).toEqual(["first", "third"]);
  });
});
