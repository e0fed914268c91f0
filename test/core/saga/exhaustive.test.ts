/**
 * The interpreter in every state that two workers, a store, time and people can bring it to. Each test below reads
 * one rule out of the same exploration; a violation comes with the shortest trace that leads to it.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { decodePlan, encodePlan, type Plan } from "../../../src/core/saga/plan.ts";
import { explore, newExploration, type Exploration, type Violation } from "./model/explore.ts";
import { realFence } from "./model/lines.ts";
import { plansOf } from "./model/plans.ts";

/** Of the longest sagas, those in which every kind of step stands beside every other. */
const LONG = [
  "a~ b~ c~ d",
  "a~ b~? c~ d~",
  "a~= b~ c= d~=",
  "a b~ c! d",
  "a~ b~ c~! d",
  "a~ b~? c!= d=",
  "a~ b! c d",
  "a~ b~!= c= d",
  "a~?= b~ c d!",
];

/** Sagas that wait, in every place and for everything. */
const WAITING = [
  "a~ b/5 c~",
  "a~ b:go c",
  "a~ b:go/5 c~",
  "a~ b:go/5+ c~",
  "a:go b~",
  "a/5 b~? c:go",
  "a~= b:$Paid/5 c~=",
  "a~ b:go/5 c! d:go",
  "a! b/5 c:go/5+ d",
];

/** Sagas with a step and its fallback, in every place and of every kind. */
const BRANCHING = [
  "a~ b~|",
  "a b|",
  "a~? b~?|",
  "a~= b|",
  "a~ b~=|",
  "a~ b~ c~|",
  "a~ b c~| d~",
  "a~ b~ c~| d!",
  "a! b!|",
  "a~ b~! c~!|",
  "a~ b~! c!| d",
  "a~ b! c~!| d",
  "a! b c|",
  "a! b= c=| d",
];

/** Sagas whose calls may outlive their time, beside people and trouble. */
const LATE = ["a~ b~", "a~ b", "a~ b!", "a~ b~! c", "a~ b~|", "a~ b/5"];

/** `npm run quick` looks at short sagas with less trouble, for two seconds. `npm test` looks at all of this. */
const isQuick = process.env["AMENDS_QUICK"] === "1";
const WORLDS_MIN = isQuick ? 10_000 : 100_000;

let found: Exploration;

function exploreSome(): void {
  for (const plan of plansOf(1)) explore(found, plan, { troubles: 2, orders: 1 });
  for (const plan of plansOf(2)) explore(found, plan, { troubles: 1, orders: 0 });
  for (const plan of [...WAITING, ...BRANCHING].map(decodePlan)) {
    if (plan.length <= 2) explore(found, plan, { troubles: 1, orders: 1 });
  }
}

function exploreAll(): void {
  for (const plan of plansOf(1)) explore(found, plan, { troubles: 3, orders: 1 });
  for (const plan of plansOf(2)) explore(found, plan, { troubles: 2, orders: 1 });
  for (const plan of plansOf(3)) explore(found, plan, { troubles: 1, orders: 0 });
  const four = new Map(plansOf(4).map((plan) => [encodePlan(plan), plan]));
  for (const name of LONG) explore(found, four.get(name) as Plan, { troubles: 1, orders: 1 });
  for (const plan of plansOf(1)) explore(found, plan, { troubles: 1, orders: 1, orphans: 2 });
  for (const plan of plansOf(2)) explore(found, plan, { troubles: 1, orders: 0, orphans: 1 });
  for (const plan of LATE.map(decodePlan)) explore(found, plan, { troubles: 1, orders: 1, orphans: 1 });
  for (const plan of WAITING.map(decodePlan)) explore(found, plan, { troubles: 2, orders: 1 });
  for (const plan of BRANCHING.map(decodePlan))
    explore(found, plan, { troubles: plan.length > 3 ? 1 : 2, orders: 1 });
}

beforeAll(() => {
  found = newExploration();
  if (isQuick) exploreSome();
  else exploreAll();
  console.info(`interpreter: ${found.worlds} worlds and ${found.arrows} arrows between them were visited`);
}, 600_000);

function violationsOf(rule: Violation["rule"]): Violation[] {
  return found.violations.filter((one) => one.rule === rule);
}

describe("two workers, up to four steps, every crash, every late or repeated line, every order of a person", () => {
  it("visits every status, and worlds by the hundred thousand", () => {
    expect([...found.statuses].toSorted()).toEqual(
      ["COMPENSATING", "COMPLETED", "FAILED", "PENDING", "RUNNING", "STALLED"].toSorted(),
    );
    expect(found.worlds).toBeGreaterThan(WORLDS_MIN);
  });

  it("[S-06] COMPENSATING is durable before an undo is called, and nothing goes forward afterwards", () => {
    expect(violationsOf("S-06")).toEqual([]);
  });

  it("[S-07] no act and no undo is called before its beginning is durable", () => {
    expect(violationsOf("S-07")).toEqual([]);
  });

  it("[S-10] undos go in reverse, and one that fails keeps none of the others from being tried", () => {
    expect(violationsOf("S-10")).toEqual([]);
  });

  it("[S-11] FAILED leaves no effect of a step that was in doubt", () => {
    expect(violationsOf("S-11")).toEqual([]);
  });

  it("[S-12] a worker that still hears a call undoes nothing beside it, and no failure is reported", () => {
    expect(violationsOf("S-12")).toEqual([]);
  });

  it("[S-14] FAILED means undone, COMPLETED means done, and everything open has a way on", () => {
    expect(violationsOf("S-14")).toEqual([]);
  });

  it("[S-14] from every state an end can still be reached", () => {
    expect(violationsOf("T-END")).toEqual([]);
  });

  it("[S-15] every line makes the next version, and one version never stands for two states", () => {
    expect(violationsOf("S-15")).toEqual([]);
  });

  it("[S-20] of a step and its fallback one has happened, and of the other nothing is left", () => {
    expect(violationsOf("S-20")).toEqual([]);
  });

  it("[S-22] nothing is taken back once the pivot has happened", () => {
    expect(violationsOf("S-22")).toEqual([]);
  });

  it("[K-06] no line is taken under a token that was lost", () => {
    expect(violationsOf("K-06")).toEqual([]);
  });

  it("[K-13] an ended saga never changes again, whatever comes late", () => {
    expect(violationsOf("K-13")).toEqual([]);
  });

  it("[K-14] every change of status is an arrow of the machine", () => {
    expect(violationsOf("K-14")).toEqual([]);
  });
});

describe("the check itself", () => {
  const small = plansOf(2).filter((plan) => ["a~ b~", "a~ b!"].includes(encodePlan(plan)));
  const broken = (fence: typeof realFence): Set<string> => {
    const spoiled = newExploration();
    for (const plan of small) explore(spoiled, plan, { troubles: 2, orders: 0 }, fence);
    return new Set(spoiled.violations.map((one) => one.rule));
  };

  it("[K-06] finds nothing with the real fence, and a stale worker without it", () => {
    expect(broken(realFence).size).toBe(0);
    // Versions are forgotten, as a settle by id alone would: whoever is late writes on top.
    const rules = broken((store, line) => store.state.status === line.state.status);
    expect(rules).toContain("K-06");
    expect(rules).toContain("S-14");
  });
});
