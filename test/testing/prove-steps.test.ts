/** What `prove` says of choices, of steps in rounds, and of waits for the first of several. */
import { err, saga, signal, type Amends } from "amends";
import { event } from "amends/events";
import type { SqliteHandle } from "amends/sqlite";
import { prove, type ProveReport } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { Ledger, soon } from "./support/shop.ts";

/** Hundreds of runs of a saga are quick, but not on a machine that is busy with other things. */
const patient = { timeout: 180_000 };

const nothing = z.object({});
const world = (): Ledger => new Ledger();

const seedsOf = ({ failures }: ProveReport): readonly string[] => failures.map(({ seed }) => seed);

/** What a step does, and how it is undone. */
const booked = (done: Ledger, takeBack: (key: string) => void = (key) => done.takeBack(key)) => ({
  act: ({ key }: { readonly key: string }) => void done.do(key),
  compensate: ({ actKey }: { readonly actKey: string }) => takeBack(actKey),
});

it(
  "[S-34][T-02] prove takes the branch that the input chooses, and leaves the other alone",
  patient,
  async () => {
    const large = (takeBack: boolean) => (done: Ledger) =>
      saga("large", z.object({ cents: z.number() }), soon)
        .when(
          "large",
          ({ input }) => input.cents > 1_000,
          (branch) => branch.step("approve", booked(done)),
          (branch) => branch.step("pass", booked(done, takeBack ? undefined : () => undefined)),
        )
        .step("book", { act: () => 1 });
    const invariant = ({ total }: Ledger, { status }: { status: string }): boolean =>
      total === (status === "COMPLETED" ? 1 : 0);
    for (const cents of [2_000, 10]) {
      const report = await prove(large(true), { input: { cents }, world, invariant });
      expect(report).toMatchObject({ leftOut: 0, failures: [], withoutUndo: ["book"] });
      const own = cents > 1_000 ? "approve" : "pass";
      expect(report.withoutLimit).toEqual(["large", own, "book", `the undo of ${own}`]);
    }
    const broken = await prove(large(false), { input: { cents: 10 }, world, invariant, report: true });
    expect(seedsOf(broken)).toContain("terminal@book");
    // The other input never comes to the step that is wrong.
    await expect(prove(large(false), { input: { cents: 2_000 }, world, invariant })).resolves.toBeDefined();
  },
);

const Paid = event("Paid", z.object({ order: z.string() }));

interface Reminding {
  readonly undo?: (done: Ledger, actKey: (round: number) => string, rounds: number) => void;
  readonly onMax?: "continue" | "fail";
}

const remind =
  ({ undo, onMax = "fail" }: Reminding = {}) =>
  (done: Ledger) =>
    saga("remind", z.object({ order: z.string() }), soon)
      .repeat("remind", {
        act: ({ key }) => void done.do(key),
        compensate: ({ actKey, rounds }) => {
          if (undo) return undo(done, actKey, rounds);
          for (let round = 1; round <= rounds; round++) done.takeBack(actKey(round));
        },
        until: { event: Paid, where: "order", equals: ({ input }) => input.order },
        delay: "3d",
        every: "3d",
        max: 4,
        onMax,
      })
      .step("ship", { act: () => 1 });

const order = { order: "o-1" };
const isNothingLeft = ({ total }: Ledger, { status }: { status: string }): boolean =>
  status === "COMPLETED" || total === 0;
const paid = { remind: (amends: Amends<SqliteHandle>) => amends.events.publish(Paid(order)) };

it(
  "[S-35][T-02] prove passes rounds that are right: paid at once, paid after a round, and never paid",
  patient,
  async () => {
    const report = await prove(remind(), {
      input: order,
      world,
      invariant: isNothingLeft,
      tell: paid,
      schedules: 2_000,
      report: true,
    });
    expect(report).toMatchObject({ leftOut: 0, failures: [] });
    const stalled = report.stalled.map(({ seed }) => seed);
    // Nobody paid: every round is tried, and so is what undoes them.
    expect(stalled).toContain("untold@remind+terminal@remind/undo");
    for (const seed of [
      "untold@remind+crash-answered@remind[1]",
      "untold@remind+terminal@remind[4]",
      "told-late@remind+lost@remind[1]",
      "told-late@remind",
    ]) {
      const one = await prove(remind(), {
        input: order,
        world,
        invariant: isNothingLeft,
        tell: paid,
        seed,
      });
      expect(one).toMatchObject({ schedules: 1, failures: [] });
    }
  },
);

it("[S-35][T-02] prove finds rounds of which only one is undone", patient, async () => {
  const report = await prove(remind({ undo: (done, actKey) => done.takeBack(actKey(1)) }), {
    input: order,
    world,
    invariant: isNothingLeft,
    tell: paid,
    report: true,
  });
  expect(seedsOf(report)).toContain("untold@remind");
});

it(
  "[S-35][T-02] prove finds a round that is undone where it is asked whether it was the last",
  patient,
  async () => {
    const poll = (atMost: number) => (done: Ledger) =>
      saga("poll", nothing, soon)
        .repeat("poll", {
          act: ({ key, round }) => void done.do(key, round),
          compensate: ({ actKey, rounds }) => {
            for (let round = 1; round <= Math.min(rounds, atMost); round++) done.takeBack(actKey(round));
          },
          until: ({ round }) => round === 3,
          every: "1m",
          max: 5,
        })
        .step("use", { act: () => err("no use") });
    const options = { input: {}, world, invariant: isNothingLeft, report: true };
    expect((await prove(poll(Infinity), options)).failures).toEqual([]);
    const broken = await prove(poll(2), options);
    // Nothing needs to go wrong for that.
    expect(seedsOf(broken)).toEqual(["none"]);
  },
);

const approved = signal("approved", z.object({ by: z.string() }));
const rejected = signal("rejected", z.object({ why: z.string() }));

it(
  "[S-37][T-02] prove has one of several things come first, as `tell` says, or the time that is declared",
  patient,
  async () => {
    const decide = (sound: boolean) => (done: Ledger) =>
      saga("decide", nothing, soon)
        .step("hold", booked(done, sound ? undefined : () => undefined))
        .waitFor("decision", {
          any: { yes: { signal: approved }, no: { signal: rejected }, late: "3d" },
        })
        .step("check", {
          act: ({ results: { decision } }) => {
            ways.add(decision.which);
            return decision.which === "yes" ? undefined : err(decision.which);
          },
        });
    const ways = new Set<string>();
    const options = { input: {}, world, invariant: isNothingLeft, report: true };
    const yes = await prove(decide(true), {
      ...options,
      tell: { decision: (amends, id) => amends.signal(id, approved, { by: "ann" }) },
    });
    expect(yes).toMatchObject({ failures: [], leftOut: 0 });
    expect([...ways].toSorted()).toEqual(["late", "yes"]);
    const no = await prove(decide(true), {
      ...options,
      tell: { decision: (amends, id) => amends.signal(id, rejected, { why: "dear" }) },
    });
    expect(no).toMatchObject({ failures: [], leftOut: 0 });
    expect(ways).toContain("no");
    const broken = await prove(decide(false), {
      ...options,
      tell: { decision: (amends, id) => amends.signal(id, approved, { by: "ann" }) },
    });
    expect(seedsOf(broken)).toContain("untold@decision");
  },
);

it("[S-37][T-02] prove leaves nothing out where no time ends the wait", patient, async () => {
  const either = saga("either", nothing).waitFor("decision", {
    any: { yes: { signal: approved }, no: { signal: rejected } },
  });
  const open = await prove(either, { input: {}, report: true });
  expect(open.failures[0]?.problem).toContain('which nothing sends: pass `tell: { "decision": … }`');
  const tell = {
    decision: (amends: Amends<SqliteHandle>, id: string) => amends.signal(id, approved, { by: "ann" }),
  };
  for (const seed of ["untold@decision", "told-late@decision"])
    await expect(prove(either, { input: {}, tell, seed })).rejects.toThrow("cannot happen");
});
