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
