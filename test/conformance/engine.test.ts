/** The engine on a storage of one's own: everything that needs no database of ours. */
import { Amends, err, saga } from "amends";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { historyIn, onEachStorage } from "./engine-storages.ts";
import { forEver, gate } from "../sagas/support/gate.ts";
import { until } from "../support/until.ts";
import { failing } from "./failing-storage.ts";

const anything = z.object({});
const note = { reason: "test" };

onEachStorage(({ storage, process, pass, amends: unstarted }) => {
  it("[S-02][S-08] a saga runs to its end, and the storage shows status, history and context", async () => {
    const chain = saga("chain", z.object({ n: z.number() }))
      .step("one", { act: ({ input }) => ({ twice: input.n * 2 }) })
      .step("two", { act: ({ results }) => results.one.twice + 1 });
    const kept = await storage();
    const amends = await process({ storage: kept, sagas: [chain] });
    const run = await amends.start(chain, { n: 20 }, { id: "saga-1" });
    const seen: string[] = [];
    for await (const step of run.stream()) seen.push(`${step.name} ${step.status}`);
    expect(seen).toEqual(["one COMPLETED", "two COMPLETED"]);
    expect(await run.result()).toEqual({
      status: "COMPLETED",
      id: "saga-1",
      results: { one: { twice: 40 }, two: 41 },
    });
    expect(await historyIn(kept, "saga-1")).toEqual([
      "one act STARTED",
      "one act COMPLETED",
      "two act STARTED",
      "two act COMPLETED",
    ]);
    expect((await kept.loadSagaState("saga-1")).status).toBe("COMPLETED");
    expect(await kept.getSagasForRecovery(10)).toEqual([]);
    expect(await amends.inspect("saga-1")).toMatchObject({
      status: "COMPLETED",
      owner: undefined,
      dueAt: undefined,
    });
  });

  it("[S-10] a failed step is followed by the undo of the done ones, in reverse", async () => {
    const undone: string[] = [];
    const chain = saga("chain", anything)
      .step("one", { act: () => "1", compensate: ({ result }) => void undone.push(`one:${result}`) })
      .step("two", { act: () => "2", compensate: ({ result }) => void undone.push(`two:${result}`) })
      .step("three", { act: () => err("no") });
    const kept = await storage();
    const amends = await process({ storage: kept, sagas: [chain] });
    const run = await amends.start(chain, {});
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "three", error: { value: "no" } });
    expect(undone).toEqual(["two:2", "one:1"]);
    expect((await historyIn(kept, run.id)).slice(-5)).toEqual([
      "three act FAILED",
      "two compensate STARTED",
      "two compensate COMPLETED",
      "one compensate STARTED",
      "one compensate COMPLETED",
    ]);
    expect((await kept.loadSagaState(run.id)).status).toBe("FAILED");
  });

  it("[S-20] a step gives way to its fallback, and whoever takes the saga over goes on with that", async () => {
    const calls: string[] = [];
    let isFirst = true;
    const chain = saga("chain", anything, { retry: { attempts: 1 } })
      .step("one", {
        act: () => {
          calls.push("one");
          throw new Error("down");
        },
        compensate: () => void calls.push("undo one"),
        fallback: {
          name: "other",
          act: async () => {
            calls.push("other");
            if (!isFirst) return "done";
            isFirst = false;
            first.die();
            return new Promise<string>(() => undefined);
          },
        },
      })
      .step("two", { act: ({ results }) => results.one });
    const first = failing(await storage());
    const dying = await process({ storage: first.storage, sagas: [chain] });
    await dying.start(chain, {}, { id: "saga-1" });
    await until(() => !isFirst);
    const kept = await storage();
    const healthy = await process({ storage: kept, sagas: [chain] });
    expect(await (await healthy.get("saga-1")).result()).toMatchObject({
      status: "COMPLETED",
      results: { one: "done", two: "done" },
    });
    expect(calls).toEqual(["one", "undo one", "other", "other"]);
    expect(await historyIn(kept, "saga-1")).toContain("other act COMPLETED");
  });

  it("[S-09][S-16] a saga whose process died is taken over once it is stale, and goes on where it stood", async () => {
    const calls: string[] = [];
    let isFirst = true;
    const chain = saga("chain", anything)
      .step("one", { act: ({ key }) => void calls.push(key) })
      .step("two", {
        act: async ({ key, attempt }) => {
          calls.push(`${key}#${attempt}`);
          if (!isFirst) return;
          isFirst = false;
          first.die();
          await new Promise(() => undefined);
        },
      });
    const first = failing(await storage());
    const dying = await process({ storage: first.storage, sagas: [chain] });
    await dying.start(chain, {}, { id: "saga-1" });
    await until(() => !isFirst);
    const healthy = await process({ storage: await storage(), sagas: [chain] });
    expect(await (await healthy.get("saga-1")).result()).toMatchObject({ status: "COMPLETED" });
    expect(calls).toEqual(["saga-1:one:act", "saga-1:two:act#1", "saga-1:two:act#2"]);
    expect(healthy.counters.recovered).toBe(1);
  });

  it("[S-24][S-09] steps of a group act at the same time, and whoever takes over calls those without a result", async () => {
    const calls: string[] = [];
    let isFirst = true;
    const seen = ({ key, attempt }: { key: string; attempt: number }): void =>
      void calls.push(`${key}#${attempt}`);
    const trip = saga("trip", anything)
      .parallel("bookings", (group) =>
        group.step("flight", { act: (call) => (seen(call), "F") }).step("hotel", {
          act: async (call) => {
            seen(call);
            if (!isFirst) return "H";
            const kept = await storage();
            await vi.waitFor(async () =>
              expect(await historyIn(kept, call.sagaId)).toContain("flight act COMPLETED"),
            );
            isFirst = false;
            first.die();
            return new Promise<never>(() => undefined);
          },
        }),
      )
      .step("mail", { act: ({ results }) => `${results.flight} ${results.hotel}` });
    const first = failing(await storage());
    const dying = await process({ storage: first.storage, sagas: [trip] });
    await dying.start(trip, {}, { id: "saga-1" });
    await until(() => !isFirst);
    const healthy = await process({ storage: await storage(), sagas: [trip] });
    expect(await (await healthy.get("saga-1")).result()).toMatchObject({ results: { mail: "F H" } });
    expect(calls).toEqual(["saga-1:flight:act#1", "saga-1:hotel:act#1", "saga-1:hotel:act#2"]);
    const history = (await historyIn(await storage(), "saga-1")).filter((line) => !line.startsWith("$"));
    expect(history).toEqual([
      "flight act STARTED",
      "hotel act STARTED",
      "flight act COMPLETED",
      "hotel act STARTED",
      "hotel act COMPLETED",
      "mail act STARTED",
      "mail act COMPLETED",
    ]);
  });

  it("[S-24][S-10] a failure in a group undoes what the others did", async () => {
    const undone: string[] = [];
    const undo = ({ result }: { result: unknown }): void => void undone.push(String(result));
    const trip = saga("trip", anything).parallel("bookings", (group) =>
      group
        .step("flight", { act: async () => "F", compensate: undo })
        .step("hotel", { act: () => err("full"), compensate: undo })
        .step("car", { act: async () => "C", compensate: undo }),
    );
    const amends = await process({ storage: await storage(), sagas: [trip] });
    const run = await amends.start(trip, {});
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "hotel", error: { value: "full" } });
    expect(undone).toEqual(["C", "F"]);
  });

  it("[S-24][K-08] a lease that is renewed while several lines are being written stops no act", async () => {
    const kept = await storage();
    // The context of a checkpoint is written, and its line of history is held until the lease has been renewed twice.
    let updates = 0;
    const slow = new Proxy(kept, {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== "function") return found;
        return async (...given: unknown[]): Promise<unknown> => {
          const [isHeld, before] = [given[1] === "one" && given[3] === "COMPLETED", updates];
          if (name === "logStep" && isHeld) await until(() => updates >= before + 2);
          const answer: unknown = await Reflect.apply(found, target, given);
          if (name === "updateContext") updates++;
          return answer;
        };
      },
    });
    const stops: string[] = [];
    const quick = { act: async () => "done" };
    const trip = saga("trip", anything).parallel("bookings", (group) =>
      group
        .step("long", {
          act: async ({ sagaId, signal }) => {
            signal.addEventListener("abort", () => stops.push(String(signal.reason)));
            await vi.waitFor(async () =>
              expect(await historyIn(kept, sagaId)).toContain("three act COMPLETED"),
            );
            return "done";
          },
        })
        .step("one", quick)
        .step("two", quick)
        .step("three", quick),
    );
    const amends = await process({ storage: slow, sagas: [trip], lease: "2s" });
    const run = await amends.start(trip, {});
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(stops).toEqual([]);
  });

  it("[S-06] a saga whose process died while it was being undone goes on backward", async () => {
    const undone: string[] = [];
    let isFirst = true;
    const chain = saga("chain", anything)
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("two", {
        act: () => 2,
        compensate: async () => {
          undone.push("two");
          if (!isFirst) return;
          isFirst = false;
          first.die();
          await new Promise(() => undefined);
        },
      })
      .step("three", { act: () => err("no") });
    const first = failing(await storage());
    const dying = await process({ storage: first.storage, sagas: [chain] });
    await dying.start(chain, {}, { id: "saga-1" });
    await until(() => !isFirst);
    const healthy = await process({ storage: await storage(), sagas: [chain] });
    expect(await (await healthy.get("saga-1")).result()).toMatchObject({ status: "FAILED", step: "three" });
    expect(undone).toEqual(["two", "two", "one"]);
  });

  it("[S-16] a saga that is healthy is not taken, however long its call lasts", async () => {
    let calls = 0;
    const kept = await storage();
    const long = saga("long", anything).step("one", {
      act: async ({ sagaId }) => {
        calls += 1;
        // Longer than the lease, counted in renewals, of which there are eight in one.
        const { version } = await kept.loadSagaState(sagaId);
        await vi.waitFor(async () =>
          expect((await kept.loadSagaState(sagaId)).version).toBeGreaterThan(version + 8),
        );
      },
    });
    const lease = "3s";
    const owner = await process({ storage: kept, sagas: [long], lease });
    const other = await process({ storage: kept, sagas: [long], lease });
    const run = await owner.start(long, {});
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect([calls, other.counters.claimed]).toEqual([1, 0]);
  });

  it("[S-15][S-16] a worker that stood still and comes back late changes nothing", async () => {
    const results: string[] = [];
    let release: () => void = () => undefined;
    let isFirst = true;
    const chain = saga("chain", anything)
      .step("one", {
        act: async () => {
          if (!isFirst) return "from the second";
          isFirst = false;
          first.pause();
          await new Promise<void>((resolve) => (release = resolve));
          return "from the first";
        },
      })
      .step("two", { act: ({ results: { one } }) => void results.push(one) });
    const first = failing(await storage());
    const late = await process({ storage: first.storage, sagas: [chain] });
    await late.start(chain, {}, { id: "saga-1" });
    await until(() => !isFirst);
    const healthy = await process({ storage: await storage(), sagas: [chain] });
    const outcome = await (await healthy.get("saga-1")).result();
    const before = await (await storage()).loadSagaState("saga-1");
    release();
    first.resume();
    await vi.waitFor(() => expect(late.counters.lost).toBe(1));
    expect(outcome).toMatchObject({ status: "COMPLETED", results: { one: "from the second" } });
    expect(results).toEqual(["from the second"]);
    expect(await (await storage()).loadSagaState("saga-1")).toEqual(before);
  });

  it("[S-17] a saga that loses its worker too often stalls", async () => {
    let deaths = 0;
    let die: () => void = () => undefined;
    const deadly = saga("deadly", anything, { recoveries: 1 }).step("one", {
      act: async () => {
        deaths += 1;
        die();
        await new Promise(() => undefined);
      },
    });
    for (let n = 1; n <= 2; n++) {
      const mortal = failing(await storage());
      die = () => mortal.die();
      const amends = await process({ storage: mortal.storage, sagas: [deadly] });
      if (n === 1) await amends.start(deadly, {}, { id: "saga-1" });
      await until(() => deaths === n);
    }
    const onStalled = vi.fn<() => void>();
    const last = await process({ storage: await storage(), sagas: [deadly], onStalled });
    expect(await (await last.get("saga-1")).result()).toMatchObject({ status: "STALLED" });
    expect(deaths).toBe(2);
    await vi.waitFor(() => expect(onStalled).toHaveBeenCalledOnce());
    expect((await (await storage()).loadSagaState("saga-1")).status).toBe("STALLED");
  });

  it("[S-13][S-21] transient trouble is tried again, after a short wait and after one that outlives the slot", async () => {
    const attempts: number[] = [];
    const chain = saga("chain", anything).step("one", {
      act: ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 4) throw new Error("not yet");
        return attempt;
      },
      retry: { attempts: 5, base: "300ms", factor: 2, cap: "1200ms" },
    });
    const amends = await process({ storage: await storage(), sagas: [chain], lease: "10s" });
    const run = await amends.start(chain, {});
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: 4 } });
    expect(attempts).toEqual([1, 2, 3, 4]);
    expect(amends.counters).toMatchObject({ released: 1, recovered: 0 });
  });

  it("[S-14] a saga whose undo fails stalls, and can be retried, skipped and resolved", async () => {
    let isBroken = true;
    const chain = saga("chain", anything)
      .step("one", {
        act: () => 1,
        compensate: () => {
          if (isBroken) throw new TypeError("broken");
        },
        compensateRetry: { attempts: 1 },
      })
      .step("two", { act: () => err("no") });
    const kept = await storage();
    const amends = await process({ storage: kept, sagas: [chain] });
    for (const id of ["retried", "skipped", "resolved"]) {
      const stalled = await (await amends.start(chain, {}, { id })).result();
      expect(stalled).toMatchObject({
        status: "STALLED",
        error: { value: "no" },
        undoErrors: [{ label: "TypeError" }],
      });
      expect((await kept.loadSagaState(id)).status).toBe("STALLED");
    }
    isBroken = false;
    expect(await amends.retry("retried", note)).toMatchObject({ status: "COMPENSATING" });
    await vi.waitFor(async () => expect((await kept.loadSagaState("retried")).status).toBe("FAILED"));
    expect(await amends.skip("skipped", "one", note)).toMatchObject({ status: "FAILED" });
    expect(await amends.resolve("resolved", "COMPLETED", note)).toMatchObject({ status: "COMPLETED" });
    expect((await kept.loadSagaState("resolved")).status).toBe("COMPLETED");
    expect((await historyIn(kept, "resolved")).at(-1)).toBe("$resolve act COMPLETED");
    await expect(amends.retry("resolved", note)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
  });

  it("[S-23] a running saga is cancelled and undone, one that nobody runs ends at once", async () => {
    const undone: string[] = [];
    const chain = saga("chain", anything)
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("two", {
        act: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stop")))),
        compensate: () => void undone.push("two"),
      });
    const kept = await storage();
    const idle = unstarted({ storage: kept, sagas: [chain] });
    await idle.start(chain, {}, { id: "pending" });
    expect(await idle.cancel("pending", note)).toMatchObject({ status: "FAILED" });

    const amends = await process({ storage: kept, sagas: [chain] });
    const run = await amends.start(chain, {}, { id: "running" });
    await vi.waitFor(async () => expect(await historyIn(kept, "running")).toContain("two act STARTED"));
    await run.cancel(note);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(undone).toEqual(["two", "one"]);
    await expect(amends.cancel("nobody", note)).rejects.toMatchObject({ code: "SAGA_NOT_FOUND" });
    expect(await amends.inspect("nobody")).toBeUndefined();
  });

  it("[S-18] the same id with the same input is the same saga, anything else is a conflict", async () => {
    let calls = 0;
    const schema = z.object({ n: z.number() });
    const once = saga("once", schema).step("one", { act: () => (calls += 1) });
    const other = saga("other", schema).step("one", { act: () => 0 });
    const kept = await storage();
    const amends = await process({ storage: kept, sagas: [once, other] });
    const runs = await Promise.all([1, 2, 3].map(() => amends.start(once, { n: 1 }, { id: "saga-1" })));
    expect(runs.filter(({ created }) => created)).toHaveLength(1);
    for (const run of runs)
      expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: 1 } });
    const again = await amends.start(once, { n: 1 }, { id: "saga-1" });
    expect(await again.result()).toMatchObject({ results: { one: 1 } });
    for await (const step of again.stream()) expect(step).toBeUndefined();
    await expect(amends.start(once, { n: 2 }, { id: "saga-1" })).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
    });
    await expect(amends.start(other, { n: 1 }, { id: "saga-1" })).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
    });
    expect(calls).toBe(1);
  });

  it("[P-01] a saga that was started without a worker is run by whoever has one", async () => {
    const chain = saga("chain", anything).step("one", { act: () => "done" });
    const starter = unstarted({ storage: await storage(), sagas: [chain] });
    const run = await starter.start(chain, {});
    expect(await run.status()).toBe("PENDING");
    await process({ storage: await storage(), sagas: [chain] });
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: "done" } });
    expect(await historyIn(await storage(), run.id)).toEqual([
      "$claim act COMPLETED",
      "one act STARTED",
      "one act COMPLETED",
    ]);
  });

  it("[K-19] sagas that somebody else put into the storage are left alone, and stand in nobody's way", async () => {
    const chain = saga("chain", anything).step("one", { act: () => "done" });
    const kept = await storage();
    await kept.createSaga("foreign", "chain", { plan: 7 });
    // From now on it would be taken over, if anybody could read it.
    pass(1_000);
    expect(await kept.getSagasForRecovery(10, 5, 1)).toEqual(["foreign"]);
    const amends = await process({ storage: kept, sagas: [chain], lease: "1s" });
    const starter = unstarted({ storage: kept, sagas: [chain] });
    for (let n = 0; n < 3; n++) {
      expect(await (await starter.start(chain, {})).result()).toMatchObject({ status: "COMPLETED" });
    }
    expect(amends.counters.claimed).toBe(3);
    expect(await kept.loadSagaState("foreign")).toEqual({
      status: "PENDING",
      context: { plan: 7 },
      version: 1,
    });
  });

  it("[S-02] setRecoveryAttempts excludes a saga from every claim, with its status unchanged, and 0 puts it back", async () => {
    const calls: string[] = [];
    const chain = saga("chain", anything)
      .step("one", { act: ({ sagaId }) => void calls.push(sagaId) })
      .step("two", { act: () => 2 });
    const kept = await storage();
    const starter = unstarted({ storage: kept, sagas: [chain] });
    for (const id of ["excluded", "low", "free"]) await starter.start(chain, {}, { id });
    await kept.setRecoveryAttempts("excluded", 5);
    await kept.setRecoveryAttempts("low", 4);
    await process({ storage: kept, sagas: [chain] });
    for (const id of ["low", "free"])
      expect(await (await starter.get(id)).result()).toMatchObject({ status: "COMPLETED" });
    // Every claim takes all that is due: the last saga shows that one came after the exclusion.
    await starter.start(chain, {}, { id: "last" });
    expect(await (await starter.get("last")).result()).toMatchObject({ status: "COMPLETED" });
    expect(await kept.loadSagaState("excluded")).toMatchObject({ status: "PENDING" });
    expect(calls).not.toContain("excluded");
    await kept.setRecoveryAttempts("excluded", 0);
    expect(await (await starter.get("excluded")).result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-02][S-17] recoveries that Amends counts exclude no saga, and progress puts back none that a person excluded", async () => {
    let [isDying, calls] = [true, 0];
    const [second, third] = [gate(), gate()];
    const chain = saga("chain", anything, { recoveries: 20 })
      .step("one", { act: () => 1 })
      .step("two", { act: () => (calls++, isDying ? forEver() : second.pass()) })
      .step("three", { act: () => third.pass() });
    const kept = await storage();
    for (let lost = 0; lost < 7; lost++) {
      const dying = failing(kept);
      const amends = await process({ storage: dying.storage, sagas: [chain], lease: "200ms" });
      if (lost === 0) await amends.start(chain, {}, { id: "saga-1" });
      // It has called the step: a call that it makes later would be taken for one of the process that lives.
      await until(async () => calls > lost);
      dying.die();
    }
    isDying = false;
    const healthy = await process({ storage: kept, sagas: [chain] });
    await second.reached;
    expect(await kept.getSagasForRecovery(10, 5)).toEqual(["saga-1"]);
    await kept.setRecoveryAttempts("saga-1", 5);
    second.open();
    await third.reached;
    await until(async () => (await historyIn(kept, "saga-1")).includes("three act STARTED"));
    expect(await kept.getSagasForRecovery(10, 5)).toEqual([]);
    third.open();
    expect(await (await healthy.get("saga-1")).result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-02] what needs a database of ours is refused in words", async () => {
    const chain = saga("chain", anything).step("one", { act: ({ emit }) => emit({ type: "done" }) });
    const kept = await storage();
    const amends = await process({ storage: kept, sagas: [chain] });
    const inWords = {
      code: "NOT_SUPPORTED",
      message: expect.stringMatching(/custom `storage`/) as string,
    };
    await expect(amends.start(chain, {}, { tx: {} })).rejects.toMatchObject(inWords);
    await expect(amends.attention.list()).rejects.toMatchObject(inWords);
    const outcome = await (await amends.start(chain, {})).result();
    expect(outcome).toMatchObject({
      status: "FAILED",
      step: "one",
      error: { kind: "terminal", label: "NOT_SUPPORTED" },
    });
    const transactional = saga("transactional", anything).step("one", {
      transaction: { dialect: "postgres" },
      act: () => 1,
    });
    expect(() => new Amends({ storage: kept, sagas: [transactional] })).toThrow(
      /storage without transactions/,
    );
  });
});
