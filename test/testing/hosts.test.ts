/** One driver, two hosts: a saga in memory goes the way that it goes in a database, line for line. */
import { err, saga, Terminal, type SagaDefinition } from "amends";
import { prove } from "amends/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { control } from "../../src/core/saga/entry.ts";
import { drive } from "../../src/sagas/driver/drive.ts";
import type { SagaHost } from "../../src/sagas/driver/saga-host.ts";
import { Breakers } from "../../src/sagas/engine/breakers.ts";
import { outcomeOf } from "../../src/sagas/view/outcome.ts";
import { virtualClock } from "../../src/testing/kit/virtual-clock.ts";
import { MemoryHost } from "../../src/testing/memory/saga-host.ts";
import { MemorySaga } from "../../src/testing/memory/saga.ts";
import { DatabaseBed } from "../../src/testing/prove/database-bed.ts";
import { Ground } from "../../src/testing/prove/ground.ts";
import { MemoryBed } from "../../src/testing/prove/memory-bed.ts";
import type { Script } from "../../src/testing/prove/script.ts";
import type { TestBed } from "../../src/testing/prove/test-bed.ts";
import { isFair, openShop, placeOrder } from "./support/shop.ts";

const nothing = z.object({});
const calm = { act: () => "done", compensate: () => undefined };
const LEASE_MS = 60_000;

/** Fails this often, then returns. */
const failing = (times: number): (() => string) => {
  let calls = 0;
  return () => {
    if (++calls <= times) throw new Error("busy");
    return "at last";
  };
};

const STORIES: Readonly<Record<string, () => SagaDefinition>> = {
  "goes well": () => saga("s", nothing).step("a", calm).step("b", calm),
  "is refused and undone": () =>
    saga("s", nothing)
      .step("a", calm)
      .step("b", { act: () => err("no") }),
  "fails for good and cannot be undone": () =>
    saga("s", nothing, { compensateRetry: { attempts: 1 } })
      .step("a", { act: () => 1, compensate: failing(9) })
      .step("b", {
        act: () => {
          throw new Terminal("gone");
        },
      }),
  "is tried again, at once and much later": () =>
    saga("s", nothing)
      .step("a", { act: failing(1), retry: { attempts: 2, base: "200ms" } })
      .step("b", { act: failing(2), retry: { attempts: 3, base: "5m" } }),
  "acts at the same time": () =>
    saga("s", nothing).parallel("both", (group) =>
      group.step("left", calm).step("right", { act: failing(1), retry: { attempts: 2, base: "1m" } }),
    ),
  sleeps: () => saga("s", nothing).step("a", calm).sleep("nap", "500ms").sleep("night", "8h").step("b", calm),
  "passes its deadline": () =>
    saga("s", nothing, { deadline: "1h" })
      .step("a", calm)
      .step("b", { act: failing(9), retry: { attempts: 9, base: "45m", cap: "45m" } }),
};

const scriptOf = (made: SagaDefinition): Script => ({
  makeSaga: () => made,
  makeWorld: () => undefined,
  input: {},
  errs: {},
  tell: {},
  isReversed: false,
  prepare: undefined,
  leaseMs: LEASE_MS,
});

/** Plays the saga to its end, with time moving whenever nothing else does; returns its lines. */
async function linesOf(bed: TestBed): Promise<readonly unknown[]> {
  await bed.start();
  for (let looks = 0; looks < 50; looks++) {
    const found = await bed.read();
    if (found && outcomeOf("one", found.state)) break;
    bed.clock.jump(Math.max(0, (found?.dueAtMs ?? 0) - bed.clock.virtualNowMs()));
    let isOver = false;
    const work = bed.work().done.finally(() => (isOver = true));
    while (!isOver) {
      await bed.clock.advance(0);
      if (!isOver) await bed.clock.advanceToNext();
    }
    await work;
  }
  const { entries = [] } = (await bed.read()) ?? {};
  await bed.close();
  return entries.map(({ step, action, status, details, next }) => {
    const text = details === null ? null : details.replace(/"by":"[^"]*"/, "");
    return [step, action, status, text, next ?? null];
  });
}

describe("the same saga in memory and in a database", () => {
  for (const [what, make] of Object.entries(STORIES)) {
    it(`[T-02] writes the same lines where it ${what}`, async () => {
      const ground = await Ground.open();
      const inDatabase = make();
      const durable = new DatabaseBed(ground, scriptOf(inDatabase), LEASE_MS, "one", () => inDatabase);
      const expected = await linesOf(durable);
      await ground.close();
      const inMemory = make();
      const bed = new MemoryBed(virtualClock(), scriptOf(inMemory), "one", () => inMemory);
      expect(await linesOf(bed)).toEqual(expected);
      expect(expected.length).toBeGreaterThan(1);
    });
  }
});

it(
  "[T-02] a proof in memory comes to what a proof in a database comes to, schedule for schedule",
  { timeout: 120_000 },
  async () => {
    const idle = placeOrder({ refund: () => undefined });
    const options = {
      input: { cents: 700 },
      world: openShop,
      invariant: isFair,
      schedules: 120,
      report: true,
    };
    const inMemory = await prove(idle, options);
    const inDatabase = await prove(idle, { ...options, prepare: () => undefined });
    expect(inMemory).toEqual(inDatabase);
    expect(inMemory.failures.length).toBeGreaterThan(0);
  },
);

describe("a host in memory", () => {
  const tools = () => {
    const clock = virtualClock();
    const shared = {
      journal: { keepsEvents: true },
      keepMessages: false,
      middleware: [],
      errorCodes: new Set<string>(),
    };
    return { ...shared, clock, graceMs: 1_000, breakers: new Breakers(clock), newId: () => "one" };
  };

  it("[S-23] a cancel that is written while a call runs stops the call, and the saga is undone", async () => {
    const given = tools();
    let stopped: unknown;
    const made = saga("s", nothing)
      .step("a", calm)
      .step("b", {
        act: ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject((stopped = new Error("stopped"))));
            stored.appendByOperator(control("$cancel", {}), given.clock.monotonicMs());
            host.interrupt();
          }),
      });
    const stored = await MemorySaga.start("one", made, {}, given.clock.monotonicMs());
    const host = new MemoryHost(given, stored, stored.claim(given.clock.monotonicMs()), made);
    expect(await drive(host, host.run)).toBe("ended");
    expect(stopped).toBeDefined();
    expect(stored.read(0).state.status).toBe("FAILED");
  });

  it("[S-01] a saga whose end is recorded has ended, even if its lease is reported lost in that moment", async () => {
    const given = tools();
    const made = saga("s", nothing).step("a", calm);
    const stored = await MemorySaga.start("one", made, {}, given.clock.monotonicMs());
    const real = new MemoryHost(given, stored, stored.claim(given.clock.monotonicMs()), made);
    const host: SagaHost = {
      isDraining: false,
      isPaused: false,
      get interruption() {
        return real.run.state.status === "COMPLETED" ? ("lost" as const) : undefined;
      },
      nowMs: () => real.nowMs(),
      settings: (step) => real.settings(step),
      call: (command) => real.call(command),
      until: (pendings, ms) => real.until(pendings, ms),
      record: (lines) => real.record(lines),
      reread: () => real.reread(),
      arrivals: () => real.arrivals(),
      warn: () => undefined,
    };
    expect(await drive(host, real.run)).toBe("ended");
  });

  it("[S-21] a saga whose step fails beyond its deadline turns back, and does not wait for the next try", async () => {
    const given = tools();
    const made = saga("s", nothing).step("a", {
      act: () => {
        given.clock.jump(60_000);
        throw new Error("busy");
      },
      retry: { attempts: 9, base: "10h", cap: "10h" },
      deadline: "1m",
    });
    const stored = await MemorySaga.start("one", made, {}, given.clock.monotonicMs());
    const host = new MemoryHost(given, stored, stored.claim(given.clock.monotonicMs()), made);
    expect(await drive(host, host.run)).toBe("ended");
    expect(stored.read(0).state.failure).toMatchObject({ kind: "deadline", step: "a" });
  });

  it("[K-06] a host whose saga another one has claimed writes nothing more", async () => {
    const given = tools();
    const made = saga("s", nothing).step("a", {
      act: () => void stored.claim(given.clock.monotonicMs()),
    });
    const stored = await MemorySaga.start("one", made, {}, given.clock.monotonicMs());
    const host = new MemoryHost(given, stored, stored.claim(given.clock.monotonicMs()), made);
    expect(await drive(host, host.run)).toBe("lost");
    expect(stored.entries.map(({ step }) => step)).toEqual(["$claim", "$claim"]);
  });
});
