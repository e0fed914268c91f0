import { err, saga } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-29] keys are distinct per saga, step and direction, and stable over tries", async () => {
    const acts: string[] = [];
    const undos: string[] = [];
    const order = saga("order", nothing, {
      retry: { base: "1ms" },
      compensateRetry: { base: "1ms" },
    })
      .step("one", {
        act: ({ key, attempt }) => {
          acts.push(`${attempt} ${key}`);
          if (attempt === 1) throw new Error("busy");
        },
        compensate: ({ key, actKey, attempt }) => {
          undos.push(`${attempt} ${key} of ${actKey}`);
          if (attempt === 1) throw new Error("busy");
        },
      })
      .step("two", { act: ({ key, attempt }) => (acts.push(`${attempt} ${key}`), err("no")) });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    for (const id of ["a", "b"]) await (await amends.start(order, {}, { id })).result();
    const expected = (id: string): string[] => [`1 ${id}:one:act`, `2 ${id}:one:act`, `1 ${id}:two:act`];
    expect(acts).toEqual([...expected("a"), ...expected("b")]);
    expect(undos).toEqual(
      ["a", "b"].flatMap((id) => [1, 2].map((attempt) => `${attempt} ${id}:one:undo of ${id}:one:act`)),
    );
  });

  it("[S-29] ids that look like parts of keys make no two keys alike", async () => {
    const keys: string[] = [];
    const order = saga("order", nothing).step("one", { act: ({ key }) => void keys.push(key) });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const ids = ["a", "a:one", "a:one:act", "A", " a", "ä", "x".repeat(180)];
    for (const id of ids) await (await amends.start(order, {}, { id })).result();
    expect(new Set(keys).size).toBe(ids.length);
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThanOrEqual(255);
  });

  it("[S-29] over a crash the key stays the same and the attempt number rises, for acts and undos", async () => {
    const calls: string[] = [];
    const [inAct, inUndo] = [gate(), gate()];
    const order = saga("order", nothing)
      .step("one", {
        act: ({ key, attempt }) => {
          calls.push(`${key} ${attempt}`);
          return attempt === 1 ? inAct.pass() : undefined;
        },
        compensate: ({ key, attempt }) => {
          calls.push(`${key} ${attempt}`);
          return attempt === 1 ? inUndo.pass() : undefined;
        },
      })
      .step("two", { act: () => err("no") });
    const { first, second, secondClock, lapse } = await pair(database, { sagas: [order] });
    await first.start(order, {}, { id: "o-1" });
    const lost = first.worker().runOnce();
    await inAct.reached;
    lapse();
    const lostToo = second.worker().runOnce();
    await inUndo.reached;
    const third = await database.amends({
      sagas: [order],
      clock: virtualClock(secondClock.virtualNowMs() + 120_000),
    });
    await third.worker().runOnce();
    expect(calls).toEqual(["o-1:one:act 1", "o-1:one:act 2", "o-1:one:undo 1", "o-1:one:undo 2"]);
    inAct.open();
    inUndo.open();
    await Promise.all([lost, lostToo]);
  });

  it("[S-29] the attempt number goes on over durable waits and other workers", async () => {
    const clock = virtualClock();
    const attempts: number[] = [];
    const order = saga("order", nothing, { retry: { base: "30s" } }).step("one", {
      act: ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 4) throw new Error("busy");
      },
    });
    for (let n = 0; n < 4; n++) {
      const amends = await database.amends({ sagas: [order], clock });
      await amends.start(order, {}, { id: "o-1" });
      await amends.worker().runOnce();
      await amends.close();
      clock.jump(3_600_000);
    }
    expect(attempts).toEqual([1, 2, 3, 4]);
  });

  it("[S-29] every call gets an AbortSignal that has not fired yet, a new one for each try", async () => {
    const signals: AbortSignal[] = [];
    const fired: boolean[] = [];
    const order = saga("order", nothing, { retry: { base: "1ms" } })
      .step("one", {
        act: ({ signal, attempt }) => {
          signals.push(signal);
          fired.push(signal.aborted);
          if (attempt === 1) throw new Error("busy");
        },
        compensate: ({ signal }) => void (signals.push(signal), fired.push(signal.aborted)),
      })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, {})).result();
    expect(fired).toEqual([false, false, false]);
    expect(new Set(signals).size).toBe(3);
  });

  it("[S-29] the signal fires when the worker shuts down, and the call counts as interrupted", async () => {
    const begun = gate();
    const order = saga("order", nothing).step("one", {
      act: ({ signal }) => {
        void begun.pass();
        return new Promise<string>((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      },
    });
    const amends = await database.amends({ sagas: [order] });
    const worker = await database.worker(amends);
    const run = await amends.start(order, {});
    await begun.reached;
    await worker.stop({ deadline: "1ms" });
    const view = await amends.inspect(run.id);
    expect(view).toMatchObject({ status: "RUNNING", error: undefined, owner: undefined });
    const lines = view?.timeline.map(({ name, status }) => `${name} ${status}`);
    expect(lines?.slice(0, 2)).toEqual(["one STARTED", "release COMPLETED"]);
    // A claim that was under way at the stop may have found the saga once more: it was released again, without a call.
    expect(lines?.filter((line) => line.startsWith("one"))).toEqual(["one STARTED"]);
  });
});
