/** What long calls report of their progress: when it is stored, who gets it, and when it is gone. */
import { saga, Terminal, type Amends, type SagaView } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { RENEWALS } from "../../src/runtime/renewal.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { advanceWithRenewals, watchedClock, type WatchedClock } from "../support/watched-clock.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { transactionOn } from "./support/effects-table.ts";
import { forEver, gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { overheard } from "./support/overheard.ts";
import { LEASE_MS } from "./support/pair.ts";

const nothing = z.object({});
const RENEWAL_MS = LEASE_MS / RENEWALS;

async function renewed(clock: WatchedClock): Promise<void> {
  await advanceWithRenewals(clock, RENEWAL_MS, RENEWAL_MS);
}

/** What the database has of a saga's progress: values by the names of calls. */
async function storedOf(database: TestDatabase, id: string): Promise<Record<string, unknown> | undefined> {
  const { progress } = await (await onlooker(database)).row(id);
  if (progress === null) return undefined;
  const stored = JSON.parse(progress as string) as Record<string, { readonly value: unknown }>;
  return Object.fromEntries(Object.entries(stored).map(([name, { value }]) => [name, value]));
}

function shown(view: SagaView | undefined): readonly string[] {
  return (view?.progress ?? []).map(
    ({ step, action, value }) => `${action} ${step} ${JSON.stringify(value)}`,
  );
}

function isWrite(text: string): boolean {
  return /\b(update|insert into)\b/i.test(text) && !/saga_kinds|event_handlers|workers|log_scan/.test(text);
}

/** What a statement returns is not written. */
function writesProgress(text: string): boolean {
  return isWrite(text) && /progress/.test(text.split(/\breturning\b/i)[0] ?? "");
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-45] progress is stored with the renewal of the lease, without a statement of its own, and the worker that takes over gets it", async () => {
    const clock = watchedClock();
    const held = gate();
    const copy = saga("copy", nothing).step("files", {
      act: async ({ progress, attempt }) => {
        if (attempt > 1) return "unreachable";
        for (let page = 1; page <= 100; page++) progress({ page });
        return held.pass();
      },
    });
    const { database: watched, texts: statements } = overheard(await database.open({ clock }));
    const first = await database.amends({ sagas: [copy], clock, database: watched });
    await first.start(copy, {}, { id: "one" });
    void first.worker().runOnce();
    await held.reached;
    expect(statements.filter(writesProgress)).toEqual([]);
    expect(await storedOf(database, "one")).toBeUndefined();
    const before = statements.length;
    await renewed(clock);
    expect(await storedOf(database, "one")).toEqual({ files: { page: 100 } });
    // One renewal, and nothing else that writes.
    expect(statements.slice(before).filter(isWrite).map(writesProgress)).toEqual([true]);
    // What did not change is not written again.
    await renewed(clock);
    expect(statements.slice(before).filter(isWrite).map(writesProgress)).toEqual([true, false]);

    // The first worker never renews again.
    const got: unknown[] = [];
    const again = saga("copy", nothing).step("files", {
      act: ({ lastProgress, attempt }) => void got.push([attempt, lastProgress]),
    });
    const laterClock = virtualClock();
    const second = await database.amends({ sagas: [again], clock: laterClock });
    laterClock.jump(2 * LEASE_MS);
    await second.worker().runOnce();
    expect(got).toEqual([[2, { page: 100 }]]);
    held.open();
  });

  it("[S-45] a saga that reports nothing renews and records with the statements that it had", async () => {
    const clock = watchedClock();
    const held = gate();
    const plain = saga("plain", nothing)
      .step("one", { act: () => held.pass() })
      .step("two", { act: () => 2 });
    const { database: watched, texts: statements } = overheard(await database.open({ clock }));
    const amends = await database.amends({ sagas: [plain], clock, database: watched });
    await amends.start(plain, {}, { id: "one" });
    const running = amends.worker().runOnce();
    await held.reached;
    await renewed(clock);
    held.open();
    await running;
    expect(await (await amends.get("one")).status()).toBe("COMPLETED");
    expect(statements.filter(isWrite).length).toBeGreaterThan(2);
    expect(statements.filter(writesProgress)).toEqual([]);
  });

  it("[S-45] a try that fails stores its last progress with its line, and the next try gets it, in any process", async () => {
    const clock = virtualClock();
    const got: unknown[] = [];
    const copy = saga("copy", nothing, { retry: { attempts: 3, base: "1h", cap: "1h" } })
      .step("files", {
        act: ({ progress, lastProgress, attempt }) => {
          got.push(lastProgress);
          progress({ done: attempt * 10 });
          // A value that was not stored yet is the next try's, too.
          expect(lastProgress).toEqual(got.at(-1));
          if (attempt < 3) throw new Error("not now");
          return "all";
        },
      })
      .step("rest", { act: forEver });
    const first = await database.amends({ sagas: [copy], clock });
    await first.start(copy, {}, { id: "one" });
    await first.worker().runOnce();
    expect(await storedOf(database, "one")).toEqual({ files: { done: 10 } });
    expect(shown(await first.inspect("one"))).toEqual(['act files {"done":10}']);
    clock.jump(3_600_001);
    const second = await database.amends({ sagas: [copy], clock });
    await second.worker().runOnce();
    expect(await storedOf(database, "one")).toEqual({ files: { done: 20 } });
    clock.jump(3_600_001);
    void second.worker().runOnce();
    await until(async () => (await second.inspect("one"))?.results["files"] !== undefined);
    expect(got).toEqual([undefined, { done: 10 }, { done: 20 }]);
    // The step is done: its progress is gone in the same commit, while the saga goes on.
    expect(await storedOf(database, "one")).toBeUndefined();
    expect((await second.inspect("one"))?.status).toBe("RUNNING");
  });

  it("[S-45] a shutdown stores what the interrupted call had reported", async () => {
    const held = gate();
    const got: unknown[] = [];
    const copy = saga("copy", nothing).step("files", {
      act: async ({ progress, lastProgress, signal }) => {
        got.push(lastProgress);
        if (lastProgress !== undefined) return "all";
        progress(["a", "b"]);
        void held.pass();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        return "unreachable";
      },
    });
    const first = await database.amends({ sagas: [copy] });
    const worker = await database.worker(first);
    await first.start(copy, {}, { id: "one" });
    await held.reached;
    await worker.stop({ deadline: "1ms" });
    expect(await storedOf(database, "one")).toEqual({ files: ["a", "b"] });
    const second = await database.amends({ sagas: [copy] });
    await second.worker().runOnce();
    expect(got).toEqual([undefined, ["a", "b"]]);
    expect(await (await second.get("one")).status()).toBe("COMPLETED");
    expect(await storedOf(database, "one")).toBeUndefined();
  });

  it("[S-45] acts, undos, items, rounds and members of a group have progress of their own", async () => {
    const clock = virtualClock();
    const got: string[] = [];
    const note = (what: string, last: unknown): void => void got.push(`${what} ${JSON.stringify(last)}`);
    let isDown = true;
    const many = saga("many", nothing, {
      retry: { attempts: 2, base: "1h", cap: "1h" },
      compensateRetry: { attempts: 2, base: "1h", cap: "1h" },
    })
      .each("items", {
        over: () => ["x", "y"],
        key: (item) => item,
        act: ({ item, progress, lastProgress, attempt }) => {
          note(`item ${item}`, lastProgress);
          progress(`${item} ${attempt}`);
          if (attempt === 1 && item === "y") throw new Error("not now");
        },
      })
      .repeat("rounds", {
        every: "1h",
        max: 2,
        until: () => false,
        act: ({ round, progress, lastProgress, attempt }) => {
          note(`round ${round}`, lastProgress);
          progress({ round, attempt });
          if (round === 1 && attempt === 1) throw new Error("not now");
        },
      })
      .parallel("both", (group) =>
        group.step("left", { act: ({ progress }) => progress("left") }).step("right", {
          act: ({ progress, lastProgress, attempt }) => {
            note("right", lastProgress);
            progress("right");
            if (attempt === 1) throw new Error("not now");
          },
          compensate: ({ progress, lastProgress }) => {
            note("undo right", lastProgress);
            progress("undoing");
            if (isDown) throw new Error("not now");
          },
        }),
      )
      .step("refuse", {
        act: () => {
          throw new Terminal("NO");
        },
      });
    const amends = await database.amends({ sagas: [many], clock });
    await amends.start(many, {}, { id: "one" });
    const seen: string[] = [];
    for (let turn = 0; turn < 12 && (await amends.inspect("one"))?.status !== "FAILED"; turn++) {
      await amends.worker().runOnce();
      seen.push(...shown(await amends.inspect("one")));
      if ((await amends.inspect("one"))?.status === "COMPENSATING") isDown = false;
      clock.jump(3_600_001);
    }
    expect((await amends.inspect("one"))?.status).toBe("FAILED");
    expect(got.filter((line) => line.startsWith("item")).toSorted()).toEqual(
      ["item x undefined", "item y undefined", 'item y "y 1"'].toSorted(),
    );
    expect(got.filter((line) => line.startsWith("round"))).toEqual([
      "round 1 undefined",
      'round 1 {"round":1,"attempt":1}',
      "round 2 undefined",
    ]);
    expect(got.filter((line) => line.includes("right"))).toEqual([
      "right undefined",
      'right "right"',
      "undo right undefined",
      'undo right "undoing"',
    ]);
    expect(seen).toEqual([
      'act items[1] "y 1"',
      'act rounds[1] {"round":1,"attempt":1}',
      'act right "right"',
      'compensate right "undoing"',
    ]);
    expect(await storedOf(database, "one")).toBeUndefined();
  });

  it("[S-45] progress that was stored while a step ran is gone with the commit that records it as done", async () => {
    const clock = watchedClock();
    const [one, two] = [gate(), gate()];
    const copy = saga("copy", nothing)
      .step("one", {
        act: ({ progress }) => {
          progress("half");
          return one.pass();
        },
      })
      .step("two", { act: () => two.pass() });
    const amends = await database.amends({ sagas: [copy], clock });
    await amends.start(copy, {}, { id: "one" });
    const running = amends.worker().runOnce();
    await one.reached;
    await renewed(clock);
    expect(shown(await amends.inspect("one"))).toEqual(['act one "half"']);
    one.open();
    await two.reached;
    expect(await storedOf(database, "one")).toBeUndefined();
    await renewed(clock);
    expect(await storedOf(database, "one")).toBeUndefined();
    two.open();
    await running;
  });

  it("[S-45] what a call that was given up reports does not reach the next try", async () => {
    const clock = watchedClock();
    const [late, second] = [gate(), gate()];
    const reports: ((value: string) => void)[] = [];
    const got: unknown[] = [];
    const copy = saga("copy", nothing).step("files", {
      timeout: "5s",
      retry: { attempts: 3, base: "1s" },
      act: ({ progress, lastProgress, attempt }) => {
        got.push(lastProgress);
        reports.push(progress);
        if (attempt === 1) progress("first");
        return attempt === 1 ? late.pass() : second.pass();
      },
    });
    const amends = await database.amends({ sagas: [copy], clock });
    await database.worker(amends);
    await amends.start(copy, {}, { id: "one" });
    await late.reached;
    await until(async () => {
      await clock.advance(1_000);
      return got.length === 2;
    });
    await second.reached;
    reports[1]?.("second");
    reports[0]?.("late");
    await renewed(clock);
    expect(await storedOf(database, "one")).toEqual({ files: "second" });
    expect(got).toEqual([undefined, "first"]);
    second.open();
    late.open();
    await until(async () => (await amends.inspect("one"))?.status === "COMPLETED");
  });

  it("[S-45] the next try gets progress that its schema has read, and none that does not fit any more", async () => {
    const warnings: string[] = [];
    const log = {
      info: () => undefined,
      error: () => undefined,
      warn: (_: unknown, text?: string) => void warnings.push(text ?? ""),
    };
    const clock = virtualClock();
    const got: unknown[] = [];
    const Cursor = z.object({ page: z.number(), since: z.coerce.date() });
    const retry = { attempts: 5, base: "1h", cap: "1h" } as const;
    const before = saga("copy", nothing, { retry }).step("files", {
      progress: Cursor,
      act: ({ progress, lastProgress }) => {
        got.push(lastProgress);
        progress({ page: 3, since: new Date(0) });
        throw new Error("not now");
      },
    });
    const first = await database.amends({ sagas: [before], clock });
    await first.start(before, {}, { id: "one" });
    await first.worker().runOnce();
    clock.jump(3_600_001);
    await first.worker().runOnce();
    const after = saga("copy", nothing, { retry }).step("files", {
      progress: z.object({ offset: z.number() }),
      act: ({ lastProgress }) => void got.push(lastProgress),
    });
    clock.jump(3_600_001);
    const second = await database.amends({ sagas: [after], clock, logger: log });
    await second.worker().runOnce();
    expect(got).toEqual([undefined, { page: 3, since: new Date(0) }, undefined]);
    expect(warnings.filter((text) => text.includes("progress"))).toEqual([
      "amends: the stored progress of a step does not fit its schema; it is not handed on",
    ]);
  });

  it("[S-45][K-20] progress that is no JSON, larger than 16 KiB, or does not fit its schema is refused, and keeps the value before it", async () => {
    const refused: unknown[] = [];
    const attempted = (report: () => void): void => {
      try {
        report();
      } catch (error) {
        refused.push((error as { code?: unknown }).code);
      }
    };
    const copy = saga("copy", nothing, { retry: { attempts: 2, base: "1h" } }).step("files", {
      progress: z.object({ text: z.string() }),
      act: ({ progress }) => {
        progress({ text: "x".repeat(16_384 - '{"text":""}'.length) });
        attempted(() => progress({ text: "x".repeat(16_385 - '{"text":""}'.length) }));
        attempted(() => progress({ text: "é".repeat(8_192) }));
        attempted(() => progress({ text: 1n } as never));
        attempted(() => progress({ page: 1 } as never));
        throw new Error("not now");
      },
    });
    const amends = await database.amends({ sagas: [copy] });
    await amends.start(copy, {}, { id: "one" });
    await amends.worker().runOnce();
    expect(refused).toEqual(["BAD_JSON", "BAD_JSON", "BAD_JSON", "BAD_INPUT"]);
    expect(JSON.stringify((await storedOf(database, "one"))?.["files"]).length).toBe(16_384);
  });

  it("[S-45] a transactional step has no progress: its work is rolled back", async () => {
    const codes: unknown[] = [];
    const write = saga("write", nothing).step("row", {
      transaction: transactionOn(database.name),
      act: (context) => {
        for (const use of ["progress", "lastProgress"] as const) {
          try {
            void context[use];
          } catch (error) {
            codes.push((error as { code?: unknown }).code);
          }
        }
      },
    });
    const amends = await database.amends({ sagas: [write] });
    await amends.start(write, {}, { id: "one" });
    await amends.worker().runOnce();
    expect(codes).toEqual(["NOT_SUPPORTED", "NOT_SUPPORTED"]);
    expect(await (await amends.get("one")).status()).toBe("COMPLETED");
  });

  it("[S-45] what cannot be a schema of progress is refused when the saga is defined, or when it is used", async () => {
    const act = (): number => 1;
    const define = (options: object) => () => saga("copy", nothing).step("files", { act, ...options });
    expect(define({ progress: { page: 1 } })).toThrow(expect.objectContaining({ code: "BAD_DEFINITION" }));
    expect(define({ progress: z.string(), transaction: transactionOn(database.name) })).toThrow(
      /transactional step has no progress/,
    );
    const codes: unknown[] = [];
    const slow = saga("slow", nothing).step("files", {
      progress: { "~standard": { version: 1, vendor: "test", validate: async (value) => ({ value }) } },
      act: ({ progress }) => {
        try {
          progress(1);
        } catch (error) {
          codes.push((error as { code?: unknown }).code);
        }
      },
    });
    const amends = await database.amends({ sagas: [slow] });
    await amends.start(slow, {}, { id: "one" });
    await amends.worker().runOnce();
    expect(codes).toEqual(["BAD_DEFINITION"]);
  });

  it("[S-45] a renewal that is older than a checkpoint brings no progress back", async () => {
    const clock = watchedClock();
    const [one, two] = [gate(), gate()];
    const copy = saga("copy", nothing)
      .step("one", {
        act: ({ progress }) => {
          progress("half");
          return one.pass();
        },
      })
      .step("two", { act: () => two.pass() });
    const real = await database.open({ clock });
    const before = gate();
    const answer = gate();
    // The renewal reaches the database only after the checkpoint.
    const { database: slow } = overheard(real, async ({ text }, send) => {
      const isRenewal = /\bknown_version\b/.test(text);
      if (isRenewal) await before.pass();
      const rows = await send();
      if (isRenewal) answer.open();
      return rows;
    });
    const amends = await database.amends({ sagas: [copy], clock, database: slow });
    await amends.start(copy, {}, { id: "one" });
    const running = amends.worker().runOnce();
    await one.reached;
    await clock.advance(RENEWAL_MS);
    await before.reached;
    one.open();
    await two.reached;
    before.open();
    await answer.pass();
    expect(await storedOf(database, "one")).toBeUndefined();
    two.open();
    await running;
    expect(await (await amends.get("one")).status()).toBe("COMPLETED");
  });

  it("[S-45] a person who skips or resolves leaves no progress behind", async () => {
    const clock = virtualClock();
    const copy = saga("copy", nothing)
      .pivot("first", { act: () => 1 })
      .step("files", {
        retry: { attempts: 1 },
        act: ({ progress }) => {
          progress("half");
          throw new Terminal("NO");
        },
      });
    const stalled = async (id: string): Promise<Amends> => {
      const amends = await database.amends({ sagas: [copy], clock });
      await amends.start(copy, {}, { id });
      await amends.worker().runOnce();
      expect(shown(await amends.inspect(id))).toEqual(['act files "half"']);
      return amends;
    };
    const first = await stalled("one");
    await first.resolve("one", "COMPLETED", { reason: "done by hand" });
    expect(await storedOf(database, "one")).toBeUndefined();
    const second = await stalled("two");
    await second.skip("two", "files", { reason: "done by hand" });
    expect(shown(await second.inspect("two"))).toEqual([]);
    await second.worker().runOnce();
    expect((await second.inspect("two"))?.status).toBe("COMPLETED");
    expect(await storedOf(database, "two")).toBeUndefined();
  });
});
