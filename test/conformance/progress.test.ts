/** The progress of long calls on a storage of one's own: its context keeps it. */
import { Amends, saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { RENEWALS } from "../../src/runtime/renewal.ts";
import { gate } from "../sagas/support/gate.ts";
import { virtualClock } from "../support/databases.ts";
import { advanceWithRenewals, watchedClock } from "../support/watched-clock.ts";
import { onEachStorage } from "./engine-storages.ts";

const nothing = z.object({});
const LEASE_MS = 60_000;

onEachStorage(({ storage }) => {
  it("[S-45][S-02] the next try gets the progress of the last one, in another process too, and a step that is done leaves none", async () => {
    const clock = virtualClock();
    const got: unknown[] = [];
    const copy = saga("copy", nothing, { retry: { attempts: 3, base: "1h" } })
      .step("files", {
        act: ({ progress, lastProgress, attempt }) => {
          got.push(lastProgress);
          progress({ attempt });
          if (attempt === 1) throw new Error("not now");
        },
      })
      .sleep("rest", "1h");
    const kept = await storage();
    const first = new Amends({ storage: kept, sagas: [copy], clock });
    await first.start(copy, {}, { id: "one" });
    await first.worker().runOnce();
    expect((await first.inspect("one"))?.progress).toMatchObject([{ step: "files", value: { attempt: 1 } }]);
    clock.jump(3_600_001);
    const second = new Amends({ storage: kept, sagas: [copy], clock });
    await second.worker().runOnce();
    expect(got).toEqual([undefined, { attempt: 1 }]);
    expect((await second.inspect("one"))?.waiting?.step).toBe("rest");
    expect(JSON.stringify((await kept.loadSagaState("one")).context)).not.toContain('progress":"{');
  });

  it("[S-45][S-02] a renewal keeps the progress of a call under way", async () => {
    const clock = watchedClock();
    const held = gate();
    const copy = saga("copy", nothing).step("files", {
      act: ({ progress }) => {
        progress("half");
        return held.pass();
      },
    });
    const amends = new Amends({ storage: await storage(), sagas: [copy], clock });
    await amends.start(copy, {}, { id: "one" });
    const running = amends.worker().runOnce();
    await held.reached;
    await advanceWithRenewals(clock, LEASE_MS / RENEWALS, LEASE_MS / RENEWALS);
    await expect.poll(async () => (await amends.inspect("one"))?.progress.length).toBe(1);
    held.open();
    await running;
    expect((await amends.inspect("one"))?.progress).toEqual([]);
  });
});
