/** What `prove` can be told, and what it refuses. */
import { setTimeout as pause } from "node:timers/promises";
import { err, ok, saga, signal } from "amends";
import { event } from "amends/events";
import { transaction, type SqliteHandle } from "amends/sqlite";
import { prove, type ProveProgress, type ProveReport } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { Ledger, soon } from "./support/shop.ts";

/** Hundreds of runs of a saga are quick, but not on a machine that is busy with other things. */
const patient = { timeout: 180_000 };

const nothing = z.object({});

/** Two steps, of which the second may be refused. */
const pair = (done: Ledger) =>
  saga("pair", nothing, soon)
    .step("hold", {
      act: ({ key }) => void done.do(key),
      compensate: ({ actKey }) => done.takeBack(actKey),
    })
    .pivot("take", { act: ({ key }) => (key === "" ? err("sold out" as const) : ok(done.do(key))) });

const world = (): Ledger => new Ledger();

it("[T-02] a step that may answer with err is made to, with what it may answer", patient, async () => {
  const ends: unknown[] = [];
  const report = await prove(pair, {
    input: {},
    world,
    errs: { take: "sold out" },
    invariant: (done, outcome) => {
      if (outcome.status === "FAILED") ends.push(outcome.error);
      return done.total === (outcome.status === "COMPLETED" ? 2 : 0);
    },
  });
  expect(ends).toContainEqual({ kind: "err", value: "sold out", label: "Err" });
  // After a doubt the pivot may have happened: an err cannot say that it has not.
  expect(report.stalled.map(({ seed }) => seed)).toContain("lost@take+err@take");
});

it("[T-02] a saga that is a constant has its fakes reset before each schedule", patient, async () => {
  const done = new Ledger();
  let worlds = 0;
  const report = await prove(pair(done), {
    input: {},
    world: () => {
      worlds++;
      done.done.clear();
      return done;
    },
    invariant: ({ total }, { status }) => total === (status === "COMPLETED" ? 2 : 0),
  });
  expect(worlds).toBe(report.schedules);
});

it(
  "[T-02] calls that never answer are tried where their time is limited, with and without their effect",
  patient,
  async () => {
    const limited = (done: Ledger) =>
      saga("limited", nothing, soon).step("call", {
        act: ({ key }) => void done.do(key),
        compensate: ({ actKey }) => done.takeBack(actKey),
        timeout: "30s",
      });
    const called: number[] = [];
    const options = {
      input: {},
      world,
      invariant: (done: Ledger, { status }: { status: string }) => {
        called.push(done.total);
        return status !== "FAILED" || done.total === 0;
      },
    };
    const seeds = ["hang@call", "hang-done@call", "hang@call+hang-done@call/undo"];
    const [hung, done, undone] = await Promise.all(seeds.map((seed) => prove(limited, { ...options, seed })));
    expect([hung?.failures, done?.failures, called]).toEqual([[], [], [0, 0]]);
    expect(undone?.stalled).toMatchObject([
      { outcome: { error: { label: "TimedOut" }, undoErrors: [{ step: "call", label: "TimedOut" }] } },
    ]);
    await expect(prove(pair, { ...options, seed: "hang@hold" })).rejects.toThrow("hang@hold cannot happen");
  },
);

it(
  "[T-02] transactional steps happen once however they are cut off, in tables that are made for each schedule",
  patient,
  async () => {
    interface Books {
      handle?: SqliteHandle;
    }
    const booked = saga("booked", nothing, soon)
      .step("book", {
        transaction,
        act: ({ tx }) => void tx.exec("insert into bookings values (1)"),
        compensate: ({ tx }) => void tx.exec("delete from bookings"),
      })
      .step("tell", { act: () => 1 });
    const report = await prove(booked, {
      input: {},
      world: (): Books => ({}),
      prepare: (handle, books) => {
        handle.exec("create table bookings (n integer)");
        books.handle = handle;
      },
      invariant: ({ handle }, { status }) => {
        const rows = handle?.prepare("select n from bookings").all().length;
        return rows === (status === "COMPLETED" ? 1 : 0);
      },
    });
    expect(report).toMatchObject({ failures: [], leftOut: 0 });
  },
);

it(
  "[T-02] signals and events that a saga waits for are sent, and left out where it waits no longer than a limit",
  patient,
  async () => {
    const approved = signal("approved", z.object({ by: z.string() }));
    const Paid = event("Paid", z.object({ order: z.string() }));
    const waiting = (done: Ledger) =>
      saga("waiting", z.object({ order: z.string() }), soon)
        .step("hold", {
          act: ({ key }) => void done.do(key),
          compensate: ({ actKey }) => done.takeBack(actKey),
        })
        .waitFor("approval", { signal: approved, timeout: "3d" })
        .waitFor("payment", { event: Paid, where: "order", equals: ({ input }) => input.order });
    const order = { order: "o-1" };
    const invariant = ({ total }: Ledger, { status }: { status: string }): boolean =>
      total === (status === "COMPLETED" ? 1 : 0);
    const told = (seed?: string): Promise<ProveReport> =>
      prove(waiting, {
        input: order,
        world,
        invariant,
        tell: {
          approval: (amends, id) => amends.signal(id, approved, { by: "ann" }),
          payment: (amends) => amends.events.publish(Paid(order)),
        },
        ...(seed !== undefined && { seed }),
      });
    expect((await told()).schedules).toBeGreaterThan(10);
    expect(await told("untold@approval")).toMatchObject({ schedules: 1, stalled: [] });
    const forgotten = await prove(waiting, {
      input: order,
      world,
      tell: { approval: (amends, id) => amends.signal(id, approved, { by: "ann" }) },
      report: true,
    });
    expect(forgotten).toMatchObject({
      schedules: 1,
      failures: [
        {
          outcome: undefined,
          problem: 'step payment waits for event Paid, which nothing sends: pass `tell: { "payment": … }`',
        },
      ],
    });
  },
);

it(
  "[T-02] so many schedules are run as there is room for, from all over, and it is told how many are left out",
  patient,
  async () => {
    const all = await prove(pair, { input: {}, world });
    const progress: ProveProgress[] = [];
    const some = await prove(pair, {
      input: {},
      world,
      schedules: 25,
      onProgress: (step) => void progress.push(step),
    });
    expect(some.schedules).toBe(25);
    expect(some.schedules + some.leftOut).toBe(all.schedules);
    expect(progress).toHaveLength(25);
    expect(progress.at(-1)).toEqual({ done: 25, of: 25, failures: 0 });
  },
);

it("[T-02] fakes may take their real time, which does not count as the saga's", patient, async () => {
  const slow = saga("slow", nothing, soon).step("call", {
    act: () => pause(20),
    compensate: () => undefined,
    timeout: "1ms",
  });
  const { failures, stalled } = await prove(slow, {
    input: {},
    seed: "lost@call",
    invariant: (_, { status }) => status === "COMPLETED",
  });
  expect([failures, stalled]).toEqual([[], []]);
});

it("[T-02] a fake that never answers is told, and does not hang the proof", patient, async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    const stuck = saga("stuck", nothing, soon).step("call", { act: () => new Promise(() => undefined) });
    const proof = prove(stuck, { input: {}, report: true });
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { interval: 1 });
    vi.advanceTimersByTime(10_000);
    const { failures } = await proof;
    expect(failures).toMatchObject([
      { seed: "none", problem: "call did not answer within 10000 ms of real time" },
    ]);
  } finally {
    vi.useRealTimers();
  }
});

it(
  "[T-02][K-20] options, seeds and sagas that make no sense are refused, with a word on what would",
  patient,
  async () => {
    const refuse = async (options: object, given: unknown = pair): Promise<string> => {
      const made = prove(given as typeof pair, { input: {}, world, ...options });
      const error: unknown = await made.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "BAD_OPTION" });
      return (error as Error).message;
    };
    expect(await refuse({ invariants: 1 })).toContain("there is no option named invariants");
    expect(await refuse({ schedules: 0 })).toContain("a whole number, 1 or more");
    await expect(prove(pair, { input: {}, world, lease: 0 })).rejects.toMatchObject({ code: "BAD_DURATION" });
    expect(await refuse({ seed: "crash@hold" })).toContain("does not fit this saga: crash@hold");
    expect(await refuse({ seed: "terminal@gone" })).toContain("does not fit this saga: terminal@gone");
    expect(await refuse({ seed: "err@take" })).toContain("err@take cannot happen");
    expect(await refuse({ seed: "lost@hold/undo" })).toContain("the undo of hold was not called");
    expect(await refuse({ errs: { tkae: "sold out" } })).toContain("has no step tkae");
    expect(await refuse({ tell: { hold: () => undefined } })).toContain("has no step hold");
    expect(await refuse({}, () => undefined)).toContain("give a saga");
    await expect(
      prove(saga("typed", z.object({ n: z.number() })).step("one", { act: () => 1 }), {
        input: { n: "1" } as never,
      }),
    ).rejects.toMatchObject({ code: "BAD_INPUT" });
  },
);
