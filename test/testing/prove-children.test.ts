/** What `prove` says of children, of sagas that are taken back, and of what follows an end. */
import { err, saga, signal } from "amends";
import { defineCall } from "amends/calls";
import { transaction, type SqliteHandle } from "amends/sqlite";
import { prove, type ProveReport } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { Ledger, soon } from "./support/shop.ts";

/** Hundreds of runs of a saga are quick, but not on a machine that is busy with other things. */
const patient = { timeout: 180_000 };

const nothing = z.object({});
const world = (): Ledger => new Ledger();

const seedsOf = ({ failures }: ProveReport): readonly string[] => failures.map(({ seed }) => seed);

interface Parts {
  readonly cancelLabel: (done: Ledger, actKey: string) => void;
  readonly shipId: () => string;
}

const ship = (done: Ledger, { cancelLabel }: Partial<Parts>) =>
  saga("ship", z.object({ order: z.string() }), soon)
    .step("label", {
      act: ({ key }) => void done.do(key),
      compensate: ({ actKey }) => (cancelLabel ?? ((one, key) => one.takeBack(key)))(done, actKey),
      timeout: "30s",
    })
    .step("pickup", {
      act: ({ input, key }) => (input.order === "" ? err("closed") : void done.do(key)),
      compensate: ({ actKey }) => done.takeBack(actKey),
    });

const place =
  (parts: Partial<Parts> = {}) =>
  (done: Ledger) =>
    saga("place", z.object({ order: z.string() }), soon)
      .step("pay", { act: ({ key }) => void done.do(key), compensate: ({ actKey }) => done.takeBack(actKey) })
      .saga("ship", ship(done, parts), {
        input: ({ input }) => input,
        ...(parts.shipId && { id: parts.shipId }),
      })
      .step("mail", { act: () => undefined });

const input = { order: "o-1" };
const isWhole = ({ total }: Ledger, { status }: { status: string }): boolean =>
  total === (status === "COMPLETED" ? 3 : 0);

it(
  "[S-26][T-02] prove runs the child with its parent: every trouble at its steps, at its start and where it is taken back",
  patient,
  async () => {
    const options = { input, world, invariant: isWhole, report: true, errs: { "ship>pickup": "closed" } };
    const report = await prove(place(), { ...options, schedules: 2_000 });
    expect(report).toMatchObject({ leftOut: 0, failures: [], withoutUndo: ["mail"] });
    expect(report.withoutLimit).toContain("ship>pickup");
    expect(report.withoutLimit).not.toContain("ship");
    const stalled = report.stalled.map(({ seed }) => seed);
    expect(stalled).toContain("terminal@mail+terminal@ship>label/undo");
    expect(stalled).toContain("err@ship>pickup+terminal@ship>label/undo");
    for (const seed of [
      "crash-answered@ship",
      "crash-written@ship+terminal@ship>label",
      "hang-done@ship>label",
      "terminal@mail+crash-answered@ship/undo",
      "terminal@mail+crash-before@ship>pickup/undo",
    ])
      await expect(prove(place(), { ...options, seed })).resolves.toMatchObject({
        schedules: 1,
        failures: [],
      });
    await expect(prove(place(), { ...options, seed: "hang@ship" })).rejects.toThrow("cannot happen");
    await expect(prove(place(), { ...options, errs: { "ship>gone": 1 } })).rejects.toThrow(
      "no step ship>gone",
    );
  },
);

it("[S-26][T-02] prove finds a step of a child whose undo does not undo", patient, async () => {
  const idle = place({ cancelLabel: () => undefined });
  const report = await prove(idle, { input, world, invariant: isWhole, report: true, schedules: 150 });
  expect(seedsOf(report)).toContain("terminal@mail");
  expect(seedsOf(report)).toContain("terminal@ship>pickup");
});

it("[S-26][T-02] prove finds a child whose undo needs a result that it may not have", patient, async () => {
  const trusting = (done: Ledger) =>
    saga("parent", nothing, soon).saga(
      "inner",
      saga("inner", nothing, soon).step("book", {
        act: ({ key }) => done.do(key),
        compensate: ({ result }) => done.takeBack((result as { id: string }).id),
      }),
      { input: () => ({}) },
    );
  const report = await prove(trusting, { input: {}, world, report: true });
  expect(report.failures.find(({ seed }) => seed === "lost-always@inner>book")).toMatchObject({
    problem: "it stalled, and nothing in this schedule explains it: the undo of step book failed (TypeError)",
    outcome: { status: "STALLED", step: "book" },
  });
});

it("[S-26][T-02] prove sends to the steps of a child what they wait for", patient, async () => {
  const picked = signal("picked", z.object({ by: z.string() }));
  const parent = saga("parent", nothing, soon).saga(
    "inner",
    saga("inner", nothing, soon).waitFor("picked", { signal: picked, timeout: "2d" }),
    { input: () => ({}) },
  );
  const untold = await prove(parent, { input: {}, report: true });
  expect(untold.failures).toMatchObject([]);
  const open = saga("parent", nothing, soon).saga(
    "inner",
    saga("inner", nothing, soon).waitFor("picked", { signal: picked }),
    { input: () => ({}) },
  );
  const waiting = await prove(open, { input: {}, report: true });
  expect(waiting.failures).toMatchObject([
    {
      problem:
        'step inner>picked waits for signal picked, which nothing sends: pass `tell: { "inner>picked": … }`',
    },
  ]);
  const ends: string[] = [];
  const told = await prove(parent, {
    input: {},
    tell: { "inner>picked": (amends, id) => amends.signal(id, picked, { by: "dhl" }) },
    invariant: (_, { status }) => void ends.push(status),
  });
  expect(told.failures).toEqual([]);
  expect(ends).toContain("COMPLETED");
  expect(ends).toContain("FAILED"); // untold@inner>picked
});

it("[S-26][T-02] prove finds a child that is given the id of another one", patient, async () => {
  const twice = (done: Ledger) =>
    saga("twice", nothing, soon)
      .saga("one", ship(done, {}), { input: () => ({ order: "1" }), id: () => "same" })
      .saga("two", ship(done, {}), { input: () => ({ order: "2" }), id: () => "same" });
  const report = await prove(twice, {
    input: {},
    world,
    invariant: (_, { status }) => status === "COMPLETED",
    report: true,
  });
  expect(report.failures).toMatchObject([{ seed: "none", outcome: { status: "FAILED", step: "two" } }]);
});

it(
  "[S-36][T-02] prove takes completed sagas back, with every trouble at the undos of the reversal, children included",
  patient,
  async () => {
    const options = {
      input,
      world,
      invariant: isWhole,
      reversed: ({ total }: Ledger) => total === 0,
      report: true,
    };
    const report = await prove(place(), { ...options, schedules: 2_000 });
    expect(report).toMatchObject({ leftOut: 0, failures: [] });
    const stalled = report.stalled.map(({ seed }) => seed);
    expect(stalled).toContain("terminal@pay/undo");
    expect(stalled).toContain("lost-always@ship>label/undo");
    for (const seed of ["crash-answered@ship/undo", "crash-written@ship>label/undo", "hang@ship>label/undo"])
      expect((await prove(place(), { ...options, seed })).failures).toEqual([]);
    const idle = await prove(place({ cancelLabel: () => undefined }), { ...options, schedules: 60 });
    expect(idle.failures[0]).toMatchObject({
      seed: "none",
      outcome: { status: "COMPLETED" },
      problem: "the world is not as it was before the saga",
    });
  },
);

it("[S-36][T-02] prove refuses to take back a saga with a pivot, and says so", patient, async () => {
  const pivotal = saga("pivotal", nothing).pivot("go", { act: () => 1 });
  await expect(prove(pivotal, { input: {}, reversed: () => true })).rejects.toThrow(
    "prove: saga pivotal has a pivot, go, so a completed one cannot be taken back. Leave out `reversed`.",
  );
});

interface Books {
  handle?: SqliteHandle;
  readonly done: Ledger;
}

it(
  "[S-46][T-02] prove passes ends in a transaction: the row says how the saga ended, exactly once",
  patient,
  async () => {
    const ended = (writes: (tx: SqliteHandle, as: string) => void) => (books: Books) =>
      saga("ended", nothing, soon)
        .step("book", {
          act: ({ key }) => void books.done.do(key),
          compensate: ({ actKey }) => books.done.takeBack(actKey),
        })
        .onCompleted({ transaction, act: ({ tx }) => writes(tx, "completed") })
        .onFailed({ transaction, act: ({ tx }) => writes(tx, "failed") });
    const write = (tx: SqliteHandle, as: string): void =>
      void tx.prepare("insert into ends values (?)").run(as);
    const options = {
      input: {},
      world: (): Books => ({ done: new Ledger() }),
      prepare: (handle: SqliteHandle, books: Books) => {
        handle.exec("create table ends (as_text text)");
        books.handle = handle;
      },
      invariant: ({ handle, done }: Books, { status }: { status: string }) => {
        const rows = handle?.prepare("select as_text from ends").all() as { as_text: string }[];
        const isFair = done.total === (status === "COMPLETED" ? 1 : 0);
        return isFair && rows.length === 1 && rows[0]?.as_text === status.toLowerCase();
      },
      report: true,
    };
    const report = await prove(ended(write), options);
    expect(report).toMatchObject({ leftOut: 0, failures: [] });
    const stalled = report.stalled.map(({ seed }) => seed);
    expect(stalled).toContain("terminal@onCompleted");
    expect(stalled).toContain("terminal@book+fail@onFailed/undo");
    const broken = await prove(
      ended((tx, as) => as === "completed" && write(tx, as)),
      options,
    );
    expect(seedsOf(broken)).toContain("terminal@book");
  },
);

it("[S-46][T-02] prove finds an end whose call gets an input that its schema refuses", patient, async () => {
  const mail = defineCall("mail", { schema: z.object({ to: z.string().min(1) }), handle: () => undefined });
  const told = (to: string) =>
    saga("told", nothing, soon)
      .step("book", { act: () => 1, compensate: () => undefined })
      .onCompleted({ call: mail, input: () => ({ to: "ann" }) })
      .onFailed({ call: mail, input: () => ({ to }) });
  expect(await prove(told("bob"), { input: {} })).toMatchObject({ failures: [], leftOut: 0 });
  const broken = await prove(told(""), { input: {}, report: true });
  const found = broken.failures.find(({ seed }) => seed === "terminal@book");
  expect(found?.problem).toContain("it stalled, and nothing in this schedule explains it");
});

it("[S-46][T-02] prove finds an onStalled whose input cannot be computed", patient, async () => {
  const page = defineCall("page", { schema: z.object({ step: z.string() }), handle: () => undefined });
  const stalling = (step: (given: string | undefined) => string) =>
    saga("stalling", nothing, soon)
      .step("book", { act: () => 1, compensate: () => undefined })
      .step("last", { act: () => 1 })
      .onStalled({ call: page, input: ({ step: at }) => ({ step: step(at) }) });
  const right = await prove(
    stalling((at) => String(at)),
    { input: {} },
  );
  expect(right.stalled.length).toBeGreaterThan(0);
  const broken = await prove(
    stalling(() => 1 as never),
    { input: {}, report: true },
  );
  expect(broken.failures.length).toBeGreaterThan(0);
  expect(broken.failures[0]?.problem).toContain("the input of onStalled could not be computed");
});
