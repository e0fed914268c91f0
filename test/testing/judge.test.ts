/** The judge alone: it knows a record of calls and an end, and must not be taken in by an engine that errs. */
import { describe, expect, it } from "vitest";
import type { PlannedStep } from "../../src/core/saga/plan.ts";
import type { SagaOutcome } from "../../src/sagas/view/outcome.ts";
import { judge, withoutUndo, type Call, type Evidence } from "../../src/testing/prove/judge.ts";
import { describe as inWords, readSeed, seedOf } from "../../src/testing/prove/trouble.ts";

const planned = (name: string, more: Partial<PlannedStep> = {}): PlannedStep => ({
  name,
  undo: true,
  pivot: false,
  undoOnErr: false,
  atomic: false,
  ...more,
});

/** `charge`, `charge/undo`, `charge err`, `charge -` (it was not run). */
function call(text: string): Call {
  const [where = "", how = "ok"] = text.split(" ");
  const [step = "", undo] = where.split("/");
  const action = undo === undefined ? "act" : "compensate";
  const made = how !== "-";
  return { step, action, key: `k:${where}`, made, ...(made && { answer: how as "ok" | "err" | "thrown" }) };
}

const COMPLETED: SagaOutcome = { status: "COMPLETED", id: "s", results: {} };
const FAILED: SagaOutcome = {
  status: "FAILED",
  id: "s",
  step: "ship",
  error: { kind: "terminal", label: "x" },
};

function stalledAt(step: string, undoErrors: readonly string[] = []): SagaOutcome {
  const errors = undoErrors.map((name) => ({ step: name, label: "x", kind: "exhausted" }));
  return { status: "STALLED", id: "s", step, reason: "why", error: undefined, undoErrors: errors };
}

function evidence(
  outcome: SagaOutcome | undefined,
  calls: readonly string[],
  more: Partial<Evidence> & { readonly seed?: string } = {},
): Evidence {
  const plan = [planned("charge"), planned("ship")];
  const schedule = readSeed(more.seed ?? "none", ["charge", "ship"]);
  return { plan, calls: calls.map(call), schedule, outcome, committed: new Set(), recoveryMax: 5, ...more };
}

describe("the record of calls", () => {
  it("[T-02] a saga that completed has every step done and none undone", () => {
    expect(judge(evidence(COMPLETED, ["charge", "ship"]))).toBeUndefined();
    expect(judge(evidence(COMPLETED, ["charge thrown", "charge", "ship"]))).toBeUndefined();
    expect(judge(evidence(COMPLETED, ["charge", "ship thrown"]))).toBe(
      "it completed, but ship never succeeded",
    );
    expect(judge(evidence(COMPLETED, ["charge", "charge/undo", "ship"]))).toBe(
      "it completed, but charge was undone",
    );
  });

  it("[T-02] a saga that failed has undone whatever may have happened, after it happened", () => {
    const left = "charge may have happened, and was not undone after that";
    expect(judge(evidence(FAILED, ["charge", "ship -", "charge/undo"]))).toBeUndefined();
    expect(judge(evidence(FAILED, ["charge", "ship -"]))).toBe(left);
    expect(judge(evidence(FAILED, ["charge thrown", "ship -"]))).toBe(left);
    expect(judge(evidence(FAILED, ["charge", "charge/undo", "charge"]))).toBe(left);
    expect(judge(evidence(FAILED, ["charge", "charge/undo thrown"]))).toBe(left);
    expect(judge(evidence(FAILED, ["charge", "charge/undo -"]))).toBe(left);
    expect(judge(evidence(FAILED, ["charge -", "charge -"]))).toBeUndefined();
  });

  it("[T-02] an err says that nothing happened, unless the step wants to be undone all the same", () => {
    expect(judge(evidence(FAILED, ["charge err"]))).toBeUndefined();
    const plan = [planned("charge", { undoOnErr: true })];
    expect(judge(evidence(FAILED, ["charge err"], { plan }))).toContain("was not undone");
    expect(judge(evidence(FAILED, ["charge err", "charge/undo"], { plan }))).toBeUndefined();
  });

  it("[T-02] a transactional step has happened exactly where it is on record", () => {
    const plan = [planned("charge", { atomic: true })];
    expect(judge(evidence(FAILED, ["charge"], { plan }))).toBeUndefined();
    expect(judge(evidence(FAILED, ["charge"], { plan, committed: new Set(["charge"]) }))).toContain(
      "not undone",
    );
  });

  it("[T-02] a step without an undo is no problem by itself, and is named", () => {
    const plan = [planned("charge", { undo: false }), planned("ship", { undo: false })];
    const failed = evidence(FAILED, ["charge", "ship -"], { plan });
    expect([judge(failed), withoutUndo(failed)]).toEqual([undefined, ["charge"]]);
    expect(withoutUndo({ ...failed, outcome: COMPLETED })).toEqual([]);
  });

  it("[T-02][S-20] of a step and its fallback one is done, and whatever the other may have done is undone", () => {
    const plan = [
      planned("charge", { fallback: "invoice" }),
      planned("invoice", { instead: "charge" }),
      planned("ship"),
    ];
    const ended = (...calls: string[]): string | undefined => judge(evidence(COMPLETED, calls, { plan }));
    expect(ended("charge", "ship")).toBeUndefined();
    expect(ended("charge -", "invoice", "ship")).toBeUndefined();
    expect(ended("charge err", "invoice", "ship")).toBeUndefined();
    expect(ended("charge thrown", "charge/undo", "invoice", "ship")).toBeUndefined();
    expect(ended("charge thrown", "invoice", "ship")).toContain("charge may have happened");
    expect(ended("charge thrown", "charge/undo thrown", "invoice", "ship")).toContain("charge may have");
    expect(ended("charge -", "invoice thrown", "ship")).toBe("it completed, but invoice never succeeded");
    expect(ended("charge", "charge/undo", "ship")).toBe("it completed, but charge was undone");
    const bare = [planned("charge", { undo: false, fallback: "invoice" }), ...plan.slice(1)];
    expect(withoutUndo(evidence(COMPLETED, ["charge", "invoice", "ship"], { plan: bare }))).toEqual([
      "charge",
    ]);
    expect(withoutUndo(evidence(COMPLETED, ["charge", "ship"], { plan: bare }))).toEqual([]);
  });

  it("[T-02][S-29] repeats of a call have its key", () => {
    const twice = [call("charge thrown"), { ...call("charge"), key: "other" }, call("ship")];
    expect(judge(evidence(COMPLETED, [], { calls: twice }))).toBe(
      "charge was called under two keys: k:charge and other",
    );
  });

  it("[T-02] a saga that is still open is a problem", () => {
    expect(judge(evidence(undefined, ["charge"]))).toBe("it has neither ended nor stalled");
  });
});

/** A call of a list, and of a choice, that says what it came to. */
const listing = (...keys: string[]): Call => ({ ...call("charge"), listed: keys });
const choosing = (chosen: boolean): Call => ({ ...call("large"), chosen });

function judged(
  outcome: SagaOutcome,
  plan: readonly PlannedStep[],
  calls: readonly (string | Call)[],
  more: Partial<Evidence> = {},
): string | undefined {
  const made = calls.map((one) => (typeof one === "string" ? call(one) : one));
  return judge(evidence(outcome, [], { plan, calls: made, ...more }));
}

describe("calls of items, rounds, branches, children and ends", () => {
  it("[S-33][T-02] every item of the recorded list is done, or every one that was called is undone", () => {
    const plan = [planned("charge", { each: { limit: 2 } }), planned("ship", { undo: false })];
    const items = [listing("a", "b"), "charge[a]", "charge[b]"];
    const completed = (...calls: (string | Call)[]): string | undefined => judged(COMPLETED, plan, calls);
    const failed = (...calls: (string | Call)[]): string | undefined => judged(FAILED, plan, calls);
    expect(completed(...items, "ship")).toBeUndefined();
    expect(completed(listing(), "ship")).toBeUndefined();
    expect(completed(listing("a", "b"), "charge[a]", "ship")).toBe(
      "it completed, but charge[b] never succeeded",
    );
    expect(completed(...items, "charge[b]/undo", "ship")).toBe("it completed, but charge[b] was undone");
    expect(completed(...items, "charge[c]", "ship")).toBe("charge[c] was called, and is not in the list");
    expect(completed(listing("a"), "charge[a]", listing("a"), "ship")).toBe(
      "the list of charge was computed again after charge[a] was called",
    );
    expect(failed(...items, "charge[b]/undo", "charge[a]/undo")).toBeUndefined();
    expect(failed(...items, "charge[b]/undo")).toBe(
      "charge[a] may have happened, and was not undone after that",
    );
    expect(failed(listing("a", "b"), "charge[a] -", "charge[b]", "charge[b]/undo")).toBeUndefined();
    const keys = [listing("a", "b"), "charge[a]", { ...call("charge[b]"), key: "k:charge[a]" }, "ship"];
    expect(completed(...keys)).toBe("charge[a] and charge[b] were called under one key: k:charge[a]");
  });

  it("[S-35][T-02] every round that began is done, no more than there may be, and one undo is for all of them", () => {
    const rounds = (more: object = {}) => [planned("charge", { repeat: { max: 2, everyMs: 1, ...more } })];
    expect(judged(COMPLETED, rounds(), ["charge[1]", "charge[2]"])).toBeUndefined();
    expect(judged(COMPLETED, rounds(), [])).toBe("it completed, but charge[1] never succeeded");
    const until = { until: { kind: "signal", target: "go" }, delayMs: 1 };
    expect(judged(COMPLETED, rounds(until), [])).toBeUndefined();
    expect(judged(COMPLETED, rounds(), ["charge[2]"])).toBe("it completed, but charge[1] never succeeded");
    expect(judged(COMPLETED, rounds(), ["charge[1]", "charge[2]", "charge[3]"])).toBe(
      "it completed, but charge had more than 2 rounds",
    );
    expect(judged(FAILED, rounds(), ["charge[1]", "charge[2] thrown", "charge/undo"])).toBeUndefined();
    expect(judged(FAILED, rounds(), ["charge[1]", "charge/undo", "charge[2]"])).toBe(
      "charge may have happened, and was not undone after that",
    );
  });

  it("[S-34][T-02] of two branches the steps of the one that was chosen last are done, and no others are called", () => {
    const plan = [
      planned("large", { undo: false, choice: true }),
      planned("yes", { branch: { choice: "large", when: true } }),
      planned("inner", { undo: false, choice: true, branch: { choice: "large", when: false } }),
      planned("no", { branch: { choice: "inner", when: true } }),
    ];
    const inner = { ...call("inner"), chosen: true };
    expect(judged(COMPLETED, plan, [choosing(true), "yes"])).toBeUndefined();
    expect(judged(COMPLETED, plan, [choosing(true)])).toBe("it completed, but yes never succeeded");
    expect(judged(COMPLETED, plan, [choosing(false), inner, "no"])).toBeUndefined();
    expect(judged(COMPLETED, plan, [choosing(true), "yes", "no"])).toBe(
      "no was called, although its branch was not chosen",
    );
    expect(judged(FAILED, plan, ["yes", "yes/undo", choosing(true)])).toBeUndefined();
    expect(judged(FAILED, plan, ["yes", "yes/undo"])).toBe(
      "yes was called, although its branch was not chosen",
    );
    expect(withoutUndo(evidence(FAILED, [], { plan, calls: [choosing(true)] }))).toEqual([]);
  });

  it("[S-26][S-36][T-02] a child is judged with its parent: it stays, or is undone, as the parent does", () => {
    const plan = [planned("charge", { child: "c" })];
    const child = [planned("book"), planned("note", { undo: false })];
    const started = (status: "COMPLETED" | "FAILED" | undefined): Partial<Evidence> => ({
      children: new Map([["charge", { plan: child, status }]]),
    });
    const all = ["charge", "charge>book", "charge>note"];
    expect(judged(COMPLETED, plan, all, started("COMPLETED"))).toBeUndefined();
    expect(judged(COMPLETED, plan, all, started("FAILED"))).toBe(
      "it completed, but its child charge is FAILED",
    );
    expect(judged(COMPLETED, plan, all, started(undefined))).toBe(
      "it completed, but its child charge is missing",
    );
    expect(judged(COMPLETED, plan, all.slice(0, 2), started("COMPLETED"))).toBe(
      "it completed, but charge>note never succeeded",
    );
    const left = "charge>book may have happened, and was not undone after that";
    expect(judged(FAILED, plan, all, started("COMPLETED"))).toBe(left);
    expect(
      judged(FAILED, plan, [...all, "charge/undo", "charge>book/undo"], started("COMPLETED")),
    ).toBeUndefined();
    expect(judged(COMPLETED, plan, all, { ...started("COMPLETED"), isReversed: true })).toBe(left);
    const failed = { outcome: FAILED, calls: all.map(call), plan, ...started("COMPLETED") };
    expect(withoutUndo(evidence(FAILED, [], failed))).toEqual(["charge>note"]);
  });

  it("[S-46][T-02] what follows an end follows that end alone, and comes last", () => {
    const plan = [
      planned("charge"),
      planned("onCompleted", { undo: false, end: "completed" }),
      planned("onFailed", { end: "failed" }),
    ];
    expect(judged(COMPLETED, plan, ["charge", "onCompleted"])).toBeUndefined();
    expect(judged(COMPLETED, plan, ["charge"])).toBe("it completed, but onCompleted never succeeded");
    expect(judged(COMPLETED, plan, ["charge", "onFailed/undo", "onCompleted"])).toBe(
      "onFailed followed, and the saga did not end like that",
    );
    expect(judged(COMPLETED, plan, ["onCompleted", "charge"])).toBe("charge was called after onCompleted");
    expect(judged(FAILED, plan, ["charge", "charge/undo", "onFailed/undo"])).toBeUndefined();
    expect(judged(FAILED, plan, ["charge", "charge/undo"])).toBe("it failed, but onFailed never succeeded");
    expect(judged(FAILED, plan, ["charge", "onFailed/undo", "charge/undo"])).toBe(
      "the undo of charge was called after onFailed",
    );
    const atomic = plan.map((step) => (step.end ? { ...step, atomic: true } : step));
    expect(judged(COMPLETED, atomic, ["charge", "onCompleted"])).toBe(
      "it completed, but onCompleted never succeeded",
    );
    const committed = { committed: new Set(["onCompleted"]) };
    expect(judged(COMPLETED, atomic, ["charge", "onCompleted"], committed)).toBeUndefined();
  });

  it("[T-02] what has succeeded is called again only after a crash or a lost answer", () => {
    const again = "charge was called again, although it had succeeded";
    const calls = ["charge", "charge", "ship"];
    expect(judge(evidence(COMPLETED, calls))).toBe(again);
    expect(judge(evidence(COMPLETED, calls, { seed: "crash-answered@charge" }))).toBeUndefined();
    expect(judge(evidence(COMPLETED, calls, { seed: "lost@charge" }))).toBeUndefined();
  });
});

describe("a saga that waits for a person", () => {
  it("[T-02] is as it must be where its undo was made to fail for good, and nowhere else", () => {
    const stalled = stalledAt("charge", ["charge"]);
    const problem = "it stalled, and nothing in this schedule explains it: why";
    expect(judge(evidence(stalled, [], { seed: "terminal@ship+fail@charge/undo" }))).toBeUndefined();
    expect(judge(evidence(stalled, [], { seed: "terminal@ship+lost@charge/undo" }))).toBe(problem);
    expect(judge(evidence(stalled, [], { seed: "terminal@ship+fail@ship/undo" }))).toBe(problem);
    expect(judge(evidence(stalled, [], { seed: "fail@charge" }))).toBe(problem);
    const both = stalledAt("charge", ["charge", "ship"]);
    expect(judge(evidence(both, [], { seed: "terminal@ship+fail@charge/undo" }))).toBe(problem);
  });

  it("[T-02] is as it must be where the step that it cannot turn back from was made to fail", () => {
    expect(judge(evidence(stalledAt("ship"), [], { seed: "terminal@ship" }))).toBeUndefined();
    expect(judge(evidence(stalledAt("ship"), [], { seed: "terminal@charge" }))).toContain("it stalled");
    expect(judge(evidence(stalledAt("ship"), [], { seed: "crash-before@ship" }))).toContain("it stalled");
  });

  it("[T-02] is as it must be where it lost more workers than it may", () => {
    const seed = "crash-before@charge+crash-answered@charge";
    expect(judge(evidence(stalledAt("charge"), [], { seed, recoveryMax: 1 }))).toBeUndefined();
    expect(judge(evidence(stalledAt("charge"), [], { seed, recoveryMax: 2 }))).toContain("it stalled");
  });
});

it("[T-02] a seed is the names of what goes wrong, and reads back as the same schedule", () => {
  const seed = "terminal@ship+crash-answered@charge/undo";
  const schedule = readSeed(seed, ["charge", "ship"]);
  expect(schedule).toEqual([
    { kind: "terminal", step: "ship", action: "act" },
    { kind: "crash-answered", step: "charge", action: "compensate" },
  ]);
  expect([seedOf(schedule), seedOf([])]).toEqual([seed, "none"]);
  expect(inWords(schedule)).toBe(
    "ship failed permanently, then crash after the undo of charge answered, before its outcome was written",
  );
  for (const bad of ["", "terminal", "terminal@", "terminal@ship/", "toString@ship", "terminal@ship+"]) {
    expect(() => readSeed(bad, ["charge", "ship"])).toThrow("does not fit this saga");
  }
});
