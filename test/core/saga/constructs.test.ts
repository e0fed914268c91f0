/**
 * The interpreter of lists, choices, rounds, waits for the first of several, children, ends and reversals, in every state that a
 * worker, crashes, time, signals and people can bring it to. Each test below reads one rule out of the same exploration; a violation
 * comes with the shortest trace that leads to it. Plain steps, and workers with old copies, are in exhaustive.test.ts.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { StepState } from "../../../src/core/saga/state.ts";
import { explore, newExploration, type Exploration, type Violation } from "./constructs/explore.ts";
import type { World } from "./constructs/world.ts";

const LISTS = ["a~ b~:*2", "b~:*1 c~", "a~ b:*2 c~", "a! b:*2", "b~?:*2", "a~ b~:*2 c!"];
const CHOICES = ["a~ w:^ x~@w+ y~@w- z~", "w:^ v:^@w+ x~@v+ y~@w-", "w:^ x@w+ y~@w- z!"];
const ROUNDS = ["a~ r~:%2/5", "r~:%2/5/3:go c", "r~:%2/5:go! c~", "a! r:%2/5:go", "r~:%3/5:$Paid c"];
const FIRSTS = ["a~ w:{yes:yes,no:no,late/5} c~", "w:{yes:yes,paid:$Paid} c~", "a! w:{yes:yes,late/5}"];
const CHILDREN = ["a~ k~:>child c~", "k~:>child c", "a! k:>child"];
const ENDS = [
  "a~ onCompleted:#completed onFailed~:#failed",
  "a~ onCompleted=:#completed onFailed~=:#failed",
  "a~ b! onCompleted=:#completed",
  "a onFailed~:#failed",
];
/** Several of them in one saga, inside of branches too, and what follows its end. */
const MIXED = [
  "w:^ b~:*2@w+ k~:>child@w- c",
  "b~:*2 r~:%2/5:go onFailed~=:#failed",
  "k~:>child w:{yes:yes,late/5} onCompleted:#completed onFailed~:#failed",
  "w:^ r~:%2/5:go@w+ c~ onCompleted=:#completed",
];
const PLANS = [...LISTS, ...CHOICES, ...ROUNDS, ...FIRSTS, ...CHILDREN, ...ENDS, ...MIXED];

/** `npm run quick` looks at short sagas with less trouble. `npm test` looks at all of this. */
const isQuick = process.env["AMENDS_QUICK"] === "1";

let found: Exploration;

beforeAll(() => {
  found = newExploration();
  for (const plan of PLANS) {
    const isShort = plan.split(" ").length <= 2;
    if (isQuick && !isShort) continue;
    explore(found, plan, { troubles: isQuick ? 1 : 2, orders: 1, reversals: 1 });
  }
  console.info(`constructs: ${found.worlds} worlds and ${found.arrows} arrows between them were visited`);
}, 600_000);

function violationsOf(rule: Violation["rule"]): Violation[] {
  return found.violations.filter((one) => one.rule === rule);
}

describe("every history of small sagas with each kind of step", () => {
  it("visits every status, reversals included", () => {
    expect([...found.seen].toSorted()).toEqual(
      [
        "COMPENSATING",
        "COMPLETED",
        "COMPLETED (taken back)",
        "FAILED",
        "FAILED (taken back)",
        "PENDING",
        "PENDING (taken back)",
        "RUNNING",
        "RUNNING (taken back)",
        "STALLED",
        "STALLED (taken back)",
      ].toSorted(),
    );
    expect(found.worlds).toBeGreaterThan(isQuick ? 5_000 : 50_000);
  });

  it("[S-06] nothing is undone before the saga has turned back, and nothing is done after that", () => {
    expect(violationsOf("S-06")).toEqual([]);
  });

  it("[S-07] no act and no undo is called before its beginning is durable", () => {
    expect(violationsOf("S-07")).toEqual([]);
  });

  it("[S-08] nothing that is recorded as done is called again, and what is recorded stays", () => {
    expect(violationsOf("S-08")).toEqual([]);
  });

  it("[S-10] undos go in reverse over steps, items, rounds and children, and only over what began", () => {
    expect(violationsOf("S-10")).toEqual([]);
  });

  it("[S-12] nothing is undone beside an act, and nothing ends while a call runs", () => {
    expect(violationsOf("S-12")).toEqual([]);
  });

  it("[S-14][S-26] FAILED means undone, COMPLETED means done, children included, and everything open has a way on", () => {
    expect(violationsOf("S-14")).toEqual([]);
  });

  it("[S-14] from every state an end can still be reached", () => {
    expect(violationsOf("T-END")).toEqual([]);
  });

  it("[S-33] a list is recorded once, before its items; a failure begins none; no more act at once than may", () => {
    expect(violationsOf("S-33")).toEqual([]);
  });

  it("[S-34] a choice is recorded once, before its branch, and no step of another branch is called", () => {
    expect(violationsOf("S-34")).toEqual([]);
  });

  it("[S-35] rounds follow each other, and there are no more of them than may be", () => {
    expect(violationsOf("S-35")).toEqual([]);
  });

  it("[S-36] a reversal leaves nothing, whatever happens to it, and nothing follows its end", () => {
    expect(violationsOf("S-36")).toEqual([]);
  });

  it("[S-37] what arrived first ends the wait, and time only where nothing did", () => {
    expect(violationsOf("S-37")).toEqual([]);
  });

  it("[S-46] what follows an end comes last, once the saga ends like that, and nothing turns it back", () => {
    expect(violationsOf("S-46")).toEqual([]);
  });

  it("[K-13] an ended saga never changes again", () => {
    expect(violationsOf("K-13")).toEqual([]);
  });

  it("[K-14] steps and sagas move along the arrows of their machines, and a log read back is the state that was written", () => {
    expect(violationsOf("K-14")).toEqual([]);
  });
});

describe("the check itself", () => {
  /** What is found where a crash loses something of what the log says. */
  const rulesOf = (plan: string, lose: (step: StepState) => StepState): ReadonlySet<string> => {
    const spoiled = newExploration();
    const forget = (world: World): World =>
      world.isHeld || world.state.status !== "RUNNING"
        ? world
        : { ...world, state: { ...world.state, steps: world.state.steps.map(lose) } };
    explore(spoiled, plan, { troubles: 1, orders: 0, reversals: 0 }, forget);
    return new Set(spoiled.violations.map(({ rule }) => rule));
  };

  it("[S-08] finds a step that is forgotten in a crash, and nothing where none is", () => {
    expect(rulesOf("a~ b~", (step) => step)).toEqual(new Set());
    expect(rulesOf("a~ b~", (step) => (step.act === "done" ? { ...step, act: "retry" } : step))).toContain(
      "S-08",
    );
  });

  it("[S-33] finds a list that is forgotten in a crash", () => {
    expect(rulesOf("b~:*2", (step) => (step.act === "listed" ? { ...step, act: "retry" } : step))).toContain(
      "S-33",
    );
  });

  it("[S-34] finds a choice that is forgotten in a crash", () => {
    const plan = "w:^ x~@w+ y~@w-";
    const lose = (step: StepState): StepState =>
      step.result === true ? { ...step, act: "none", result: undefined } : step;
    expect(rulesOf(plan, lose)).toContain("S-34");
  });

  it("[S-35] finds rounds that are counted anew after a crash", () => {
    const lose = (step: StepState): StepState => (step.act === "waiting" ? { ...step, round: 0 } : step);
    expect(rulesOf("r~:%2/5", lose)).toContain("S-08");
  });
});
