import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";

const short = saga("short", z.object({})).step("one", { act: () => 1 });

onEachDatabase((database) => {
  it("[K-18] a stop that comes while a claim is under way gives back what that claim brings in", async () => {
    const amends = await database.amends({ sagas: [short] });
    for (let round = 0; round < 10; round++) {
      const { id } = await amends.start(short, {});
      const worker = amends.worker();
      await worker.start();
      await worker.stop();
      expect((await amends.inspect(id))?.owner).toBeUndefined();
    }
  });

  it("[K-18] a stop that comes while a claim is under way does not wait for the next poll", async () => {
    // Time stands still: a worker that slept until its next poll would never stop.
    const amends = await database.amends({ sagas: [short], clock: virtualClock() });
    await amends.start(short, {});
    const worker = amends.worker();
    await worker.start();
    await worker.stop();
    expect(worker.running).toBe(false);
  });
});
