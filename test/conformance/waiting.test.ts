/** Waiting on a storage of one's own: time is waited for, and nothing that such a storage could not keep. */
import { Amends, saga, signal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { historyIn, onEachStorage } from "./engine-storages.ts";

const nothing = z.object({});

onEachStorage(({ storage }) => {
  it("[S-25][S-02] a saga sleeps, and goes on when its time has come", async () => {
    const clock = virtualClock();
    const nap = saga("nap", nothing)
      .step("before", { act: () => 1 })
      .sleep("cool-off", "2h")
      .step("after", { act: () => 2 });
    const kept = await storage();
    const amends = new Amends({ storage: kept, sagas: [nap], clock });
    const run = await amends.start(nap, {});
    expect(await amends.worker().runOnce()).toBe(1);
    clock.jump(7_200_000 - 1);
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(1);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.status()).toBe("COMPLETED");
    expect((await historyIn(kept, run.id)).filter((line) => !line.startsWith("$"))).toEqual([
      "before act STARTED",
      "before act COMPLETED",
      "cool-off act STARTED",
      "cool-off act COMPLETED",
      "after act STARTED",
      "after act COMPLETED",
    ]);
  });

  it("[S-25] a saga that waits for a signal is refused where it is registered, and signals are too", async () => {
    const waiting = saga("waiting", nothing).waitFor("go", { signal: signal("go", nothing) });
    const kept = await storage();
    expect(() => new Amends({ storage: kept, sagas: [waiting] })).toThrow(
      expect.objectContaining({ code: "BAD_DEFINITION" }),
    );
    const amends = new Amends({ storage: kept });
    await expect(amends.signal("one", signal("go", nothing), {})).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
    });
  });
});
