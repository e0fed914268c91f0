import { err, ok, RetryLater, saga, Terminal, type SagaOutcome } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";

const quick = { attempts: 3, base: "1ms", cap: "2ms" } as const;

onEachDatabase((database) => {
  /** How a saga ends whose second step does this, how often that was called, and whether the first was undone. */
  async function endOf(act: (attempt: number) => unknown): Promise<[SagaOutcome, number, number]> {
    let calls = 0;
    let undone = 0;
    const trial = saga("trial", z.object({}))
      .step("one", { act: () => 1, compensate: () => void undone++ })
      .step("two", {
        act: ({ attempt }) => {
          calls++;
          return act(attempt);
        },
        retry: quick,
      });
    const amends = await database.amends({ sagas: [trial] });
    const worker = await database.worker(amends);
    const outcome = await (await amends.start(trial, {})).result();
    await worker.stop();
    return [outcome, calls, undone];
  }

  it("[K-15] a returned Err is a business failure: no retry, and the saga is undone", async () => {
    const ended = await endOf(() => err({ reason: "card-declined" }));
    expect(ended).toMatchObject([
      { status: "FAILED", step: "two", error: { kind: "err", value: { reason: "card-declined" } } },
      1,
      1,
    ]);
  });

  it("[K-15] a thrown Terminal is permanent: no retry, and the saga is undone", async () => {
    const ended = await endOf(() => {
      throw new Terminal("account-closed");
    });
    expect(ended).toMatchObject([
      { status: "FAILED", error: { kind: "terminal", label: "account-closed" } },
      1,
      1,
    ]);
  });

  it("[K-15] a thrown RetryLater makes the wait as long as the other side asked for, in an act and in an undo", async () => {
    const clock = virtualClock();
    const busy = (attempt: number): void => {
      if (attempt === 1) throw new RetryLater("rate-limited", "later", { afterMs: 7_200_000 });
    };
    const calls: string[] = [];
    const trial = saga("trial", z.object({}), { retry: quick, compensateRetry: quick })
      .step("one", {
        act: ({ attempt }) => (calls.push(`act ${attempt}`), busy(attempt)),
        compensate: ({ attempt }) => (calls.push(`undo ${attempt}`), busy(attempt)),
      })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [trial], clock });
    const run = await amends.start(trial, {});
    const work = async (ms: number): Promise<void> => {
      clock.jump(ms);
      await amends.worker().runOnce();
    };
    await work(0);
    await work(7_199_999);
    expect(calls).toEqual(["act 1"]);
    await work(1);
    await work(7_199_999);
    expect(calls).toEqual(["act 1", "act 2", "undo 1"]);
    await work(1);
    expect(calls).toEqual(["act 1", "act 2", "undo 1", "undo 2"]);
    expect(await run.result()).toMatchObject({ status: "FAILED" });
  });

  it("[K-15] any other throw is transient: tried again, and ended loudly when its tries are used up", async () => {
    const ended = await endOf(() => {
      throw new TypeError("no");
    });
    expect(ended).toMatchObject([
      { status: "FAILED", error: { kind: "exhausted", label: "TypeError" } },
      3,
      1,
    ]);
    const recovered = await endOf((attempt) => {
      if (attempt < 3) throw new TypeError("no");
      return ok("at last");
    });
    expect(recovered).toMatchObject([{ status: "COMPLETED", results: { two: "at last" } }, 3, 0]);
  });

  it.each<[string, unknown]>([
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["more than a mebibyte", "x".repeat(1_048_577)],
    ["an Err that cannot be stored", err(1n)],
    ["an object that contains itself", Object.assign([], { 0: undefined })],
  ])("[K-15] %s as a result fits no contract: permanent", async (_, value) => {
    if (Array.isArray(value)) value.push(value);
    const ended = await endOf(() => value);
    expect(ended).toMatchObject([{ status: "FAILED", error: { kind: "unfit" } }, 1, 1]);
  });

  it("[K-15] whatever is thrown has a defined end, also what fights back when it is looked at", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const hostile: unknown[] = [
      "text",
      null,
      undefined,
      proxy,
      new Proxy(
        {},
        {
          getPrototypeOf: () => Object.prototype,
          get: () => {
            throw new Error("x");
          },
        },
      ),
      {
        get message(): never {
          throw new Error("x");
        },
      },
    ];
    for (const thrown of hostile) {
      const ended = await endOf(() => Promise.reject(thrown));
      expect(ended).toMatchObject([{ status: "FAILED", error: { kind: "exhausted" } }, 3, 1]);
    }
  });

  it("[K-15] the same where messages are kept", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const thrown of [
      proxy,
      {
        get message(): never {
          throw new Error("x");
        },
      },
      new TypeError("seen"),
      null,
    ]) {
      const talkative = saga("talkative", z.object({}), { keepMessages: true }).step("one", {
        act: () => Promise.reject(thrown),
        retry: { attempts: 1 },
      });
      const amends = await database.amends({ sagas: [talkative] });
      const worker = await database.worker(amends);
      const outcome = await (await amends.start(talkative, {})).result();
      await worker.stop();
      expect(outcome).toMatchObject({ status: "FAILED", error: { kind: "exhausted" } });
    }
  });
});
