import { err, saga, type StepNews } from "amends";
import { SqlSagaStorage } from "amends/storage";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker, type Onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";
import { watched } from "./support/watched.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-05] N steps that succeed cost at most N + 1 commits", async () => {
    const { database: db, commits } = watched(await database.open());
    const act = (): number => 1;
    const five = saga("five", nothing)
      .step("one", { act })
      .step("two", { act })
      .step("three", { act })
      .step("four", { act })
      .step("five", { act });
    const amends = await database.amends({ database: db, sagas: [five] });
    // No poll falls into the count: the worker looks once, finds nothing, and sleeps.
    await database.worker(amends, { poll: "1h" });
    await vi.waitFor(() => expect(commits()).toBe(1));
    expect(await (await amends.start(five, {})).result()).toMatchObject({ status: "COMPLETED" });
    expect(commits()).toBeLessThanOrEqual(6);
  });

  it("[S-05] each durable point holds what ended and what begins after it", async () => {
    const look = await onlooker(database);
    const seen: Record<string, readonly string[]> = {};
    const note =
      (name: string) =>
      async ({ sagaId }: { sagaId: string }): Promise<void> =>
        void (seen[name] = await look.history(sagaId));
    const turning = saga("turning", nothing)
      .step("one", { act: note("one"), compensate: note("undo one") })
      .step("two", { act: note("two"), compensate: note("undo two") })
      .step("three", { act: () => err("no") });
    const amends = await database.amends({ sagas: [turning] });
    await database.worker(amends);
    const run = await amends.start(turning, {});
    expect(await run.result()).toMatchObject({ status: "FAILED" });
    const created = ["one act STARTED"];
    const second = [...created, "one act COMPLETED", "two act STARTED"];
    const third = [...second, "two act COMPLETED", "three act STARTED"];
    const back = [...third, "three act FAILED", "two compensate STARTED"];
    const first = [...back, "two compensate COMPLETED", "one compensate STARTED"];
    expect(seen).toEqual({ one: created, two: second, "undo two": back, "undo one": first });
    expect(await look.history(run.id)).toEqual([...first, "one compensate COMPLETED"]);
    expect(await look.row(run.id)).toMatchObject({ status: "FAILED" });
  });

  it("[S-05] a saga that is started where a worker has room is RUNNING from its first commit", async () => {
    const look = await onlooker(database);
    const inside = gate();
    const slow = saga("slow", nothing).step("one", { act: () => inside.pass() });
    const amends = await database.amends({ sagas: [slow] });
    await database.worker(amends);
    const run = await amends.start(slow, {});
    expect(await look.row(run.id)).toMatchObject({ status: "RUNNING", version: 1 });
    expect(await look.history(run.id)).toEqual(["one act STARTED"]);
    inside.open();
    await run.result();
  });

  it("[S-06] COMPENSATING is durable before the first undo is called", async () => {
    const look = await onlooker(database);
    const seen: unknown[] = [];
    const turning = saga("turning", nothing)
      .step("one", {
        act: () => 1,
        compensate: async ({ sagaId }) => void seen.push((await look.row(sagaId))["status"]),
      })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [turning] });
    await database.worker(amends);
    await (await amends.start(turning, {})).result();
    expect(seen).toEqual(["COMPENSATING"]);
  });

  it("[S-06] a crash inside an undo goes on backward, and never forward again", async () => {
    const calls: string[] = [];
    const inUndo = gate();
    const turning = saga("turning", nothing)
      .step("one", { act: () => void calls.push("act one"), compensate: () => void calls.push("undo one") })
      .step("two", {
        act: () => void calls.push("act two"),
        compensate: ({ attempt }) => {
          calls.push(`undo two ${attempt}`);
          return attempt === 1 ? inUndo.pass() : undefined;
        },
      })
      .step("three", { act: () => (calls.push("act three"), err("no")) });
    const { first, second, lapse } = await pair(database, { sagas: [turning] });
    const run = await first.start(turning, {});
    const lost = first.worker().runOnce();
    await inUndo.reached;
    lapse();
    expect(await second.worker().runOnce()).toBe(1);
    expect(await (await second.get(run.id)).result()).toMatchObject({ status: "FAILED", step: "three" });
    inUndo.open();
    await lost;
    expect(calls).toEqual(["act one", "act two", "act three", "undo two 1", "undo two 2", "undo one"]);
  });

  it("[S-07] STARTED is durable before the act is called, for every step and every try", async () => {
    const look = await onlooker(database);
    const last: (string | undefined)[] = [];
    const looking = async (id: string): Promise<void> => void last.push((await look.history(id)).at(-1));
    const chain = saga("chain", nothing, { retry: { base: "1ms", cap: "1ms" } })
      .step("one", { act: ({ sagaId }) => looking(sagaId) })
      .step("two", {
        act: async ({ sagaId, attempt }) => {
          await looking(sagaId);
          if (attempt === 1) throw new Error("busy");
        },
      });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    const run = await amends.start(chain, {});
    await run.result();
    expect(last).toEqual(["one act STARTED", "two act STARTED", "two act STARTED"]);
    expect((await look.history(run.id)).filter((line) => line === "two act STARTED")).toHaveLength(2);
  });

  it("[S-07] recovery tells a saga that never began from one that is in doubt", async () => {
    const attempts: number[] = [];
    const chain = saga("chain", nothing).step("one", { act: ({ attempt }) => void attempts.push(attempt) });
    const amends = await database.amends({ sagas: [chain] });
    const look = await onlooker(database);
    const run = await amends.start(chain, {});
    expect(await look.row(run.id)).toMatchObject({ status: "PENDING", recovery_attempts: 0 });
    expect(await look.history(run.id)).toEqual([]);
    await amends.worker().runOnce();
    expect(attempts).toEqual([1]);
  });

  it("[S-08] context and COMPLETED are one: a step counts as done exactly when its line is durable", async () => {
    const { database: db, holdNext } = watched(await database.open());
    const look = await onlooker(database);
    const begun = gate();
    const chain = saga("chain", nothing)
      .step("one", { act: async () => (await begun.pass(), { id: 7 }) })
      .step("two", { act: ({ results }) => results.one.id });
    const amends = await database.amends({ database: db, sagas: [chain] });
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(chain, {});
    await begun.reached;
    const commit = holdNext();
    begun.open();
    await commit.reached;
    // The act has returned, but its commit has not happened: to everybody the step is still under way.
    expect(await stored(look, run.id)).toEqual({ done: false, results: {} });
    commit.open();
    await run.result();
    expect(await stored(look, run.id)).toEqual({ done: true, results: { one: { id: 7 }, two: 7 } });
  });

  it("[S-08] a reader hears of a step only after its commit", async () => {
    const { database: db, holdNext } = watched(await database.open());
    const look = await onlooker(database);
    const begun = gate();
    const chain = saga("chain", nothing)
      .step("one", { act: () => begun.pass() })
      .step("two", { act: () => 2 });
    const amends = await database.amends({ database: db, sagas: [chain] });
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(chain, {});
    await begun.reached;
    const heard: StepNews[] = [];
    const reading = run.each(async (step) => {
      heard.push(step);
      expect(await look.history(run.id)).toContain(`${step.name} act COMPLETED`);
    });
    const commit = holdNext();
    begun.open();
    await commit.reached;
    expect(heard).toEqual([]);
    commit.open();
    await reading;
    expect(heard.map(({ name }) => name)).toEqual(["one", "two"]);
  });
});

async function stored(look: Onlooker, id: string): Promise<unknown> {
  const { context } = await new SqlSagaStorage(look.db).loadSagaState(id);
  const done = (await look.history(id)).includes("one act COMPLETED");
  return { done, results: context["results"] };
}
