import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { gatekeeper } from "./support/hold.ts";

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[K-18] a stop lets the running call finish, records it, and releases the rest of the saga", async () => {
    const held = gate<string>();
    const acts: string[] = [];
    const two = saga("two", z.object({}))
      .step("one", { act: () => (acts.push("one"), held.pass()) })
      .step("two", { act: () => void acts.push("two") });
    const amends = await database.amends({ sagas: [two] });
    const worker = await database.worker(amends);
    await amends.start(two, {}, { id: "one" });
    await held.reached;
    const stopping = worker.stop();
    expect((await amends.start(two, {}, { id: "late" })).created).toBe(true);
    held.open("done");
    await stopping;
    expect(acts).toEqual(["one"]);
    const view = await amends.inspect("one");
    expect(view).toMatchObject({
      status: "RUNNING",
      owner: undefined,
      results: { one: "done" },
      recoveryAttempts: 0,
    });
    expect(view?.timeline.some((line) => line.status === "FAILED")).toBe(false);
    // A claim that was under way may have brought the late one in: then it was given back without a call.
    expect(await amends.inspect("late")).toMatchObject({
      owner: undefined,
      recoveryAttempts: 0,
      results: {},
    });
    expect(amends.counters).toMatchObject({ lost: 0, completed: 0, failed: 0 });
  });

  it("[K-18] what was given back is taken by the next worker at once, and is no recovery", async () => {
    const held = gate<string>();
    const two = saga("two", z.object({}))
      .step("one", { act: () => held.pass() })
      .step("two", { act: () => "2" });
    const first = await database.amends({ sagas: [two] });
    const worker = await database.worker(first);
    await first.start(two, {}, { id: "one" });
    await held.reached;
    const stopping = worker.stop();
    held.open("1");
    await stopping;
    const second = await database.amends({ sagas: [two] });
    expect(await second.worker().runOnce()).toBe(1);
    expect(await second.inspect("one")).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
    expect(second.counters).toMatchObject({ claimed: 1, recovered: 0, completed: 1 });
  });

  it("[K-18] at the deadline the call is aborted, nothing is recorded as failed, and the saga is released", async () => {
    const clock = virtualClock();
    const reached = gate();
    const reasons: string[] = [];
    const long = saga("long", z.object({})).step("one", {
      act: ({ signal }) => {
        void reached.pass();
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reasons.push((signal.reason as Error).message);
            reject(signal.reason as Error);
          });
        });
      },
      retry: { attempts: 1 },
    });
    const amends = await database.amends({ sagas: [long], clock });
    const worker = await database.worker(amends);
    await amends.start(long, {}, { id: "one" });
    await reached.reached;
    const stopping = worker.stop({ deadline: "10s" });
    await clock.advance(9_999);
    expect(reasons).toEqual([]);
    await clock.advance(1);
    expect(reasons).toEqual(["amends: shutdown"]);
    await stopping;
    const view = await amends.inspect("one");
    expect(view).toMatchObject({ status: "RUNNING", owner: undefined });
    expect(view?.dueAt?.getTime()).toBeLessThanOrEqual(clock.virtualNowMs());
    expect(view?.timeline.filter((line) => line.status === "FAILED")).toEqual([]);
    expect(view?.timeline.at(-1)).toMatchObject({ name: "release", kind: "control" });
  });

  it("[K-18] a call that ignores its signal cannot hold up a stop; its saga is claimed again after its lease", async () => {
    const clock = virtualClock();
    const deaf = gate();
    const long = saga("long", z.object({})).step("one", {
      act: ({ attempt }) => (attempt === 1 ? deaf.pass() : undefined),
    });
    const amends = await database.amends({ sagas: [long], clock });
    const worker = await database.worker(amends);
    await amends.start(long, {}, { id: "one" });
    await deaf.reached;
    let stopped = false;
    const stopping = worker.stop({ deadline: "5s" }).then(() => (stopped = true));
    await expect.poll(() => clock.advance(1_000).then(() => stopped)).toBe(true);
    await stopping;
    await clock.advance(60_000);
    const second = await database.amends({ sagas: [long], clock });
    expect(await second.worker().runOnce()).toBe(1);
    expect(await second.inspect("one")).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
    deaf.open();
  });

  it("[K-18] stopping twice, before the start, and closing afterwards are all fine", async () => {
    const one = saga("one", z.object({})).step("one", { act: () => 1 });
    const amends = await database.amends({ sagas: [one] });
    const worker = amends.worker();
    await worker.stop();
    await worker.start();
    await Promise.all([worker.stop(), worker.stop()]);
    expect(worker.running).toBe(false);
    await worker.start();
    expect(await (await amends.start(one, {})).result()).toMatchObject({ status: "COMPLETED" });
    await amends.close();
    expect(worker.running).toBe(false);
    await expect(amends.start(one, {})).rejects.toMatchObject({ code: "CLOSED" });
  });
});
