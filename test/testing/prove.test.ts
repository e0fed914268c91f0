/** What `prove` finds: each saga here has one bug that a test without crashes and lost answers would not show. */
import { AmendsError, err, ok, saga } from "amends";
import { prove, type ProveReport } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { isFair, Ledger, openShop, placeOrder, soon, type Parts, type Shop } from "./support/shop.ts";

/** Hundreds of runs of a saga are quick, but not on a machine that is busy with other things. */
const patient = { timeout: 180_000 };

const nothing = z.object({});
const input = { cents: 700 };

const seedsOf = ({ failures }: ProveReport): readonly string[] => failures.map(({ seed }) => seed);

/** The five steps of the shop with one part put wrong, in a hurry: the singles are enough. */
const findings = (parts: Partial<Parts>): Promise<ProveReport> =>
  prove(placeOrder(parts), { input, world: openShop, invariant: isFair, schedules: 60, report: true });

it(
  "[T-02] a saga that is right passes: every crash, failure and timeout ends completed, undone, or with a person",
  patient,
  async () => {
    const report = await prove(placeOrder(), { input, world: openShop, invariant: isFair });
    expect(report).toMatchObject({ leftOut: 0, failures: [], withoutUndo: ["check"] });
    expect(report.schedules).toBeGreaterThan(100);
    // Its deadline stops whatever comes before the pivot, but no undo.
    expect(report.withoutLimit).toEqual(["ship", "mail", "the undo of reserve"]);
    const stalled = report.stalled.map(({ seed }) => seed);
    expect(stalled).toContain("terminal@mail");
    expect(stalled).toContain("terminal@charge+lost-always@reserve/undo");
    expect(stalled).not.toContain("fail@mail");
  },
);

it(
  "[T-02] a compensation that does nothing is found, and the error says after what, with the seed that repeats it",
  patient,
  async () => {
    const options = { input, world: openShop, invariant: isFair, schedules: 110 };
    const idle = placeOrder({ refund: () => undefined });
    const error = await prove(idle, options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AmendsError);
    expect(error).toMatchObject({ code: "NOT_PROVEN" });
    const { message } = error as AmendsError;
    expect(message).toMatch(/^Saga place-order is not proven: \d+ of \d+ schedules went wrong\.$/m);
    expect(message).toContain(
      "- charge happened, and its answer was lost at every try\n  FAILED: the invariant does not hold\n  seed: lost-always@charge\n",
    );
    expect(message).toMatch(/^and \d+ more$/m);
    const again = prove(idle, { ...options, seed: "lost-always@charge" });
    await expect(again).rejects.toThrow("1 of 1 schedules went wrong");
    // What the compensation should take back has not happened there.
    await expect(prove(idle, { ...options, seed: "terminal@charge" })).resolves.toMatchObject({
      failures: [],
    });
  },
);

it(
  "[T-02] an act that charges twice after a crash is found, and nowhere else than where it is called again",
  patient,
  async () => {
    let calls = 0;
    const twice = await findings({
      charge: ({ payments }, key, cents) => payments.do(`${key} ${calls++}`, cents),
    });
    const found = seedsOf(twice).filter((seed) => seed.endsWith("@charge"));
    expect(found).toEqual(["crash-answered@charge", "lost@charge", "lost-always@charge", "hang-done@charge"]);
    expect(twice.failures.find(({ seed }) => seed === "crash-answered@charge")).toMatchObject({
      schedule: "crash after charge answered, before its outcome was written",
      outcome: { status: "COMPLETED" },
      problem: "the invariant does not hold",
    });
  },
);

it("[T-02] a step without a compensation before one that can fail is found", patient, async () => {
  const careless = (sent: Ledger) =>
    saga("careless", nothing, soon)
      .step("announce", { act: ({ key }) => void sent.do(key) })
      .step("book", { act: () => ok(1), compensate: () => undefined });
  const report = await prove(careless, {
    input: {},
    world: () => new Ledger(),
    invariant: (sent, { status }) => sent.total === (status === "COMPLETED" ? 1 : 0),
    report: true,
  });
  expect(seedsOf(report)).toEqual(expect.arrayContaining(["fail@book", "terminal@book"]));
  expect(report.withoutUndo).toEqual(["announce"]);
});

it(
  "[T-02] an undo in the wrong order is found by an invariant that throws, and its words are told",
  patient,
  async () => {
    const failFast = ({ log }: Shop) =>
      saga("hasty", nothing, soon)
        .step("pay", { act: () => 1, compensate: () => void log.push("refunded") })
        .step("reserve", { act: () => 1, compensate: () => void log.push("released") })
        .step("ship", { act: () => err("no courier") });
    const report = await prove(failFast, {
      input: {},
      world: openShop,
      invariant: ({ log }) => {
        const [first] = log;
        if (first !== "refunded") throw new Error(`the goods were ${first} before the money was back`);
      },
      report: true,
    });
    expect(report.schedules).toBe(1); // it fails without any trouble: nothing else needs to be tried
    expect(report.failures).toMatchObject([
      {
        seed: "none",
        schedule: "nothing went wrong",
        problem: "the invariant does not hold: the goods were released before the money was back",
        cause: new Error("the goods were released before the money was back"),
      },
    ]);
  },
);

it(
  "[T-02] what a saga keeps in memory between its steps is lost in a crash, and that is found",
  patient,
  async () => {
    const forgetful = ({ payments, parcels }: Shop) => {
      let paid: string | undefined;
      return saga("forgetful", nothing, soon)
        .step("pay", {
          act: ({ key }) => void (paid = payments.do(key).id),
          compensate: () => payments.takeBack(paid ?? ""),
        })
        .step("ship", {
          act: () => void parcels.do(paid ?? "unpaid"),
          compensate: () => parcels.takeBack(paid ?? "unpaid"),
        });
    };
    const report = await prove(forgetful, {
      input: {},
      world: openShop,
      invariant: ({ payments, parcels }, { status }) =>
        status === "COMPLETED" ? !parcels.done.has("unpaid") : payments.total === 0,
      report: true,
    });
    const found = seedsOf(report);
    // Answered, but not written, the payment is made again by whoever takes over.
    expect(found.slice(0, 3)).toEqual(["crash-written@pay", "crash-before@ship", "crash-answered@ship"]);
    expect(found).toContain("crash-answered@ship+terminal@ship");
    expect(found.every((seed) => seed.includes("crash"))).toBe(true);
  },
);

it(
  "[T-02] a compensation that needs a result that nobody has stalls where nothing explains it, and that is found",
  patient,
  async () => {
    const trusting = saga("trusting", nothing, soon).step("pay", {
      act: () => ({ id: "p-1" }),
      compensate: ({ result }) => void (result as { id: string }).id.length,
    });
    const report = await prove(trusting, { input: {}, report: true });
    expect(report.failures.find(({ seed }) => seed === "lost-always@pay")).toMatchObject({
      outcome: { status: "STALLED" },
      problem:
        "it stalled, and nothing in this schedule explains it: the undo of step pay failed (TypeError)",
    });
    // Where its undo was made to fail, a person was to be expected.
    expect(report.stalled.every(({ seed }) => seed.endsWith("@pay/undo"))).toBe(true);
  },
);

it(
  "[T-02] the same seed is the same schedule: what went wrong once goes wrong again, and in the same way",
  patient,
  async () => {
    const broken = { refund: () => undefined };
    const report = await findings(broken);
    expect(await findings(broken)).toEqual(report);
    for (const failure of report.failures.slice(0, 4)) {
      const options = { input, world: openShop, invariant: isFair, report: true, seed: failure.seed };
      expect((await prove(placeOrder(broken), options)).failures).toEqual([failure]);
    }
  },
);
