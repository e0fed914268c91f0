import { err, saga, Terminal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-10] undo runs in reverse order, one at a time, each with the result of its act", async () => {
    const calls: string[] = [];
    const compensate = async ({ result }: { result: string | undefined }): Promise<void> => {
      calls.push(`begin ${result}`);
      await new Promise((resolve) => setImmediate(resolve));
      calls.push(`end ${result}`);
    };
    const chain = saga("chain", nothing)
      .step("one", { act: () => "1", compensate })
      .step("two", { act: () => "2", compensate })
      .step("three", { act: () => "3", compensate })
      .step("four", { act: () => err("no"), compensate });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    const outcome = await (await amends.start(chain, {})).result();
    expect(outcome).toMatchObject({ status: "FAILED", step: "four", error: { kind: "err", value: "no" } });
    expect(calls).toEqual(["begin 3", "end 3", "begin 2", "end 2", "begin 1", "end 1"]);
  });

  it("[S-10] what was undone is saved after each undo, and is not undone again after a crash", async () => {
    const undone: string[] = [];
    const look = await onlooker(database);
    const held = gate();
    const chain = saga("chain", nothing)
      .step("one", {
        act: () => 1,
        compensate: ({ attempt }) => {
          undone.push(`one ${attempt}`);
          return attempt === 1 ? held.pass() : undefined;
        },
      })
      .step("two", { act: () => 2, compensate: () => void undone.push("two") })
      .step("three", { act: () => err("no") });
    const { first, second, lapse } = await pair(database, { sagas: [chain] });
    const run = await first.start(chain, {});
    const lost = first.worker().runOnce();
    await held.reached;
    expect((await look.history(run.id)).slice(-2)).toEqual([
      "two compensate COMPLETED",
      "one compensate STARTED",
    ]);
    lapse();
    await second.worker().runOnce();
    held.open();
    await lost;
    expect(await (await second.get(run.id)).status()).toBe("FAILED");
    expect(undone).toEqual(["two", "one 1", "one 2"]);
  });

  it("[S-10] one undo that fails never stops the others", async () => {
    const undone: string[] = [];
    const chain = saga("chain", nothing)
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("two", { act: () => 2, compensate: () => Promise.reject(new Terminal("refund-refused")) })
      .step("three", { act: () => 3, compensate: () => void undone.push("three") })
      .step("four", { act: () => err("no") });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    expect(await (await amends.start(chain, {})).result()).toMatchObject({ status: "STALLED", step: "two" });
    expect(undone).toEqual(["three", "one"]);
  });

  it("[S-13] an undo follows a policy of its own: so many tries, with its own delay and factor", async () => {
    const clock = virtualClock();
    const undos: number[] = [];
    const acts: number[] = [];
    const chain = saga("chain", nothing)
      .step("one", {
        act: () => 1,
        compensateRetry: { attempts: 4, base: "10s", factor: 3, cap: "1m" },
        compensate: () => {
          undos.push(clock.virtualNowMs());
          throw new Error("busy");
        },
      })
      .step("two", {
        retry: { attempts: 2, base: "5s" },
        act: () => {
          acts.push(clock.virtualNowMs());
          throw new Error("busy");
        },
      });
    const amends = await database.amends({ sagas: [chain], clock });
    const run = await amends.start(chain, {});
    const worker = amends.worker();
    for (let second = 0; second < 200; second++) {
      await worker.runOnce();
      clock.jump(1_000);
    }
    expect(acts.map((at) => at - (acts[0] as number))).toEqual([0, 5_000]);
    expect(undos.map((at) => at - (undos[0] as number))).toEqual([0, 10_000, 40_000, 100_000]);
    expect(await run.result()).toMatchObject({
      status: "STALLED",
      error: { kind: "exhausted" },
      undoErrors: [{ step: "one", kind: "exhausted", label: "Error" }],
    });
  });

  it("[S-13] zero attempts are refused when the saga is defined", () => {
    const act = (): number => 1;
    const refused = expect.objectContaining({ code: "BAD_DEFINITION" }) as unknown;
    const none = { attempts: 0 };
    expect(() => saga("a", nothing, { compensateRetry: none })).toThrow(refused);
    expect(() => saga("a", nothing, { retry: none })).toThrow(refused);
    expect(() => saga("a", nothing).step("b", { act, compensate: act, compensateRetry: none })).toThrow(
      refused,
    );
    expect(() => saga("a", nothing).step("b", { act, retry: { attempts: 1.5 } })).toThrow(refused);
  });

  it("[S-13] what a definition sets also holds in recovery", async () => {
    const tries: number[] = [];
    const held = gate();
    const chain = saga("chain", nothing, { compensateRetry: { attempts: 2, base: "10s" } })
      .step("one", {
        act: () => 1,
        compensate: ({ attempt }) => {
          tries.push(attempt);
          if (attempt === 1) return held.pass();
          throw new Error("busy");
        },
      })
      .step("two", { act: () => err("no") });
    const { first, second, secondClock, lapse } = await pair(database, { sagas: [chain] });
    const run = await first.start(chain, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.worker().runOnce();
    expect(await second.worker().runOnce()).toBe(0);
    secondClock.jump(9_999);
    expect(await second.worker().runOnce()).toBe(0);
    secondClock.jump(1);
    expect(await second.worker().runOnce()).toBe(1);
    // The try that the crash interrupted is not a failure of the undo: it had two of its own.
    expect(await (await second.get(run.id)).status()).toBe("STALLED");
    expect(tries).toEqual([1, 2, 3]);
    held.open();
    await lost;
  });

  it("[S-13] a long wait is a durable due time: it holds no slot, no owner and no transaction", async () => {
    const clock = virtualClock();
    const look = await onlooker(database);
    const turned: string[] = [];
    const waiting = saga("waiting", nothing)
      .step("one", {
        act: () => 1,
        compensateRetry: { base: "30s" },
        compensate: ({ attempt }) => {
          if (attempt === 1) throw new Error("busy");
          turned.push("undone");
        },
      })
      .step("two", { act: () => err("no") });
    const quick = saga("quick", nothing).step("one", { act: () => void turned.push("quick") });
    const amends = await database.amends({ sagas: [waiting, quick], clock });
    // One slot only: whoever waits must not keep it.
    await database.worker(amends, { concurrency: 1 });
    const run = await amends.start(waiting, {});
    await vi.waitFor(async () => {
      expect(await look.row(run.id)).toMatchObject({
        status: "COMPENSATING",
        owner: null,
        gate_ms: clock.virtualNowMs() + 30_000,
      });
    });
    expect(await (await amends.start(quick, {})).result()).toMatchObject({ status: "COMPLETED" });
    // Another process finds it just as well: the due time is in the database, not in the one that waits.
    const other = await database.amends({ sagas: [waiting], clock });
    expect(await other.worker().runOnce()).toBe(0);
    clock.jump(30_000);
    expect(await other.worker().runOnce()).toBe(1);
    expect(turned).toEqual(["quick", "undone"]);
    expect(await look.row(run.id)).toMatchObject({ status: "FAILED" });
  });

  it("[S-13] a short wait is waited out in place, with the lease kept", async () => {
    const clock = virtualClock();
    const look = await onlooker(database);
    const tried = gate();
    const brief = saga("brief", nothing).step("one", {
      retry: { base: "200ms" },
      act: ({ attempt }) => {
        if (attempt > 1) return attempt;
        void tried.pass();
        throw new Error("busy");
      },
    });
    const amends = await database.amends({ sagas: [brief], clock });
    const run = await amends.start(brief, {});
    const running = amends.worker().runOnce();
    await tried.reached;
    await vi.waitFor(async () => expect(await look.history(run.id)).toContain("one act FAILED"));
    expect((await look.row(run.id))["owner"]).not.toBeNull();
    await vi.waitFor(async () => {
      await clock.advance(200);
      expect(await (await amends.get(run.id)).status()).toBe("COMPLETED");
    });
    await running;
  });
});
