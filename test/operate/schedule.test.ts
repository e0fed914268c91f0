import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { ACT_RETRY, delayMs } from "../../src/core/backoff.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";

onEachDatabase((database) => {
  it("[K-01] the n-th failure is waited out for min(base · 2^(n−1), cap), by the database's clock", async () => {
    const clock = virtualClock();
    const calls: number[] = [];
    const stubborn = saga("stubborn", z.object({})).step("one", {
      act: () => {
        calls.push(clock.virtualNowMs());
        throw new TypeError("no");
      },
      retry: { attempts: 6, base: "10s", cap: "60s" },
    });
    const amends = await database.amends({ sagas: [stubborn], clock });
    await amends.start(stubborn, {}, { id: "one" });
    const worker = amends.worker();
    const waits: number[] = [];
    while ((await worker.runOnce()) > 0) {
      const dueAt = (await amends.inspect("one"))?.dueAt?.getTime();
      if (dueAt === undefined) break;
      const waitMs = dueAt - clock.virtualNowMs();
      waits.push(waitMs);
      // A millisecond early nothing is due.
      await clock.advance(waitMs - 1);
      expect(await worker.runOnce()).toBe(0);
      await clock.advance(1);
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(calls).toHaveLength(6);
    expect(await amends.inspect("one")).toMatchObject({ status: "FAILED", error: { kind: "exhausted" } });
  });

  it("[K-01] without a policy of one's own an act waits 1 second, doubling up to an hour", async () => {
    const clock = virtualClock();
    const usual = saga("usual", z.object({})).step("one", {
      act: () => {
        throw new TypeError("no");
      },
    });
    const amends = await database.amends({ sagas: [usual], clock });
    const run = await amends.start(usual, {}, { id: "one" });
    let isOver = false;
    const working = async (): Promise<void> => {
      while (!isOver) {
        await amends.worker().runOnce();
        await clock.advance(1_000);
      }
    };
    const seconds: number[] = [];
    const reading = async (): Promise<void> => {
      for await (const { error } of run.stream())
        if (error?.kind === "retry") seconds.push(error.waitMs / 1_000);
      isOver = true;
    };
    const passing = async (): Promise<void> => {
      while (!isOver) await clock.advance(1_000);
    };
    await Promise.all([working(), reading(), passing()]);
    expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 64]);
    expect(delayMs(ACT_RETRY, 20)).toBe(3_600_000);
  });

  it("[K-01] a policy that makes no sense is refused when it is defined", () => {
    const step = (retry: object) => () => saga("x", z.object({})).step("one", { act: () => 1, retry });
    expect(step({ base: 0 })).toThrow(expect.objectContaining({ code: "BAD_DURATION" }));
    expect(step({ base: "2s", cap: "1s" })).toThrow(expect.objectContaining({ code: "BAD_POLICY" }));
    expect(step({ factor: 0.5 })).toThrow(expect.objectContaining({ code: "BAD_POLICY" }));
    expect(step({ attempts: 0 })).toThrow(expect.objectContaining({ code: "BAD_DEFINITION" }));
  });

  it("[K-02] the same history gives the same instants, in every run and every process", async () => {
    const histories: string[] = [];
    for (const id of ["first", "second"]) {
      const clock = virtualClock();
      const stubborn = saga(`stubborn-${id}`, z.object({})).step("one", {
        act: () => {
          throw new TypeError("no");
        },
        retry: { attempts: 4, base: "7s", cap: "1m", factor: 3 },
      });
      const amends = await database.amends({ sagas: [stubborn], clock });
      await amends.start(stubborn, {}, { id });
      for (let n = 0; n < 4; n++) {
        await amends.worker().runOnce();
        await clock.advance(60_000);
      }
      const view = await amends.inspect(id);
      expect(view?.status).toBe("FAILED");
      histories.push(JSON.stringify(view?.timeline.map(({ at, name, status }) => [at, name, status])));
    }
    expect(histories[1]).toBe(histories[0]);
  });
});
