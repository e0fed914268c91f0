import { describe, expect, it } from "vitest";
import { control, type Entry, type Failure, type FailureKind } from "../../../src/core/saga/entry.ts";
import { advance } from "../../../src/core/saga/advance.ts";
import { decide, next, takesOver, type Outcome } from "../../../src/core/saga/interpreter.ts";
import { decodePlan } from "../../../src/core/saga/plan.ts";
import { initial, type SagaState } from "../../../src/core/saga/state.ts";

const retry = { attemptMax: 2, baseMs: 10, capMs: 100, factor: 2 };
const inTime = { expired: false };

const failed = (kind: FailureKind, instead?: string): string =>
  JSON.stringify({ kind, label: "L", instead } satisfies Failure);

/** A saga after these lines, each with the call that follows on it begun. */
function after(plan: string, ...lines: (Pick<Entry, "step" | "status" | "details"> & Partial<Entry>)[]) {
  let state: SagaState = initial(decodePlan(plan), true);
  for (const line of lines) {
    state = advance(state, { action: "act", ...line }, inTime, true).state;
  }
  return state;
}

const done = (step: string): Entry => ({ step, action: "act", status: "COMPLETED", details: "1" });
const undone = (step: string): Entry => ({ step, action: "compensate", status: "COMPLETED", details: null });
const gives = (step: string, kind: FailureKind, instead: string): Entry => ({
  step,
  action: "act",
  status: "FAILED",
  details: failed(kind, instead),
});

describe("a step and its fallback", () => {
  it("[S-20] either of the two is done, and the saga goes on behind both", () => {
    expect(next(after("a b| c", done("a")), inTime)).toMatchObject({ kind: "act", step: "c", attempt: 1 });
    const chosen = after("a b| c", gives("a", "err", "b"));
    expect(next(chosen, inTime)).toMatchObject({ kind: "act", step: "b", attempt: 1 });
    expect(next(after("a b| c", gives("a", "err", "b"), done("b")), inTime)).toMatchObject({ step: "c" });
    expect(after("a b|", done("a")).status).toBe("COMPLETED");
    expect(after("a b|", gives("a", "err", "b"), done("b")).status).toBe("COMPLETED");
  });

  it.each([
    ["exhausted", "undo a"],
    ["terminal", "undo a"],
    ["unfit", "undo a"],
    ["err", "act b"],
    ["open", "act b"],
  ] as const)("[S-20] after a failure that is %s comes %s", (kind, comes) => {
    const command = next(after("a~ b~|", gives("a", kind, "b")), inTime);
    expect("step" in command && `${command.kind} ${command.step}`).toBe(comes);
  });

  it("[S-20] what is known to have done nothing is not undone; after an earlier try nobody knows", () => {
    // The next try begins in the line of the one that failed.
    const again = [{ step: "a", status: "FAILED", details: failed("retry") }] as const;
    for (const kind of ["err", "open"] as const) {
      const state = after("a~ b~|", ...again, gives("a", kind, "b"));
      expect(next(state, inTime)).toMatchObject({ kind: "undo", step: "a" });
      const cleared = after("a~ b~|", ...again, gives("a", kind, "b"), undone("a"));
      expect(next(cleared, inTime)).toMatchObject({ kind: "act", step: "b" });
    }
  });

  it("[S-20] only the branch that ran is undone when the saga turns back", () => {
    const lines = [gives("a", "terminal", "b"), undone("a"), done("b")];
    const state = after("a~ b~| c", ...lines, { step: "c", status: "FAILED", details: failed("err") });
    expect(next(state, inTime)).toMatchObject({ kind: "undo", step: "b" });
    const back = after(
      "a~ b~| c",
      ...lines,
      { step: "c", status: "FAILED", details: failed("err") },
      undone("b"),
    );
    expect(back.status).toBe("FAILED");
  });

  it("[S-20] a failure that does not qualify turns the saga back; one that does names who takes over", () => {
    const state = after("a~ b~|");
    const command = next(state, inTime);
    const outcome = (qualifies: boolean): Outcome => ({
      kind: "failed",
      transient: false,
      failure: { kind: "terminal", label: "T" },
      qualifies,
    });
    expect(decide(state, command, outcome(false), retry).entry.details).not.toContain("instead");
    expect(JSON.parse(decide(state, command, outcome(true), retry).entry.details ?? "")).toEqual({
      kind: "terminal",
      label: "T",
      instead: "b",
    });
    const plain = after("a~ b~");
    expect(decide(plain, next(plain, inTime), outcome(true), retry).entry.details).not.toContain("instead");
  });

  it("[S-20][S-22] from the pivot on a step gives way only where nothing is left that cannot be taken back", () => {
    expect(takesOver(after("a b|"), 0, "exhausted")).toBe("b");
    expect(takesOver(after("a! b!|"), 0, "exhausted")).toBeUndefined();
    expect(takesOver(after("a! b!|"), 0, "err")).toBe("b");
    expect(takesOver(after("a! b!|"), 0, "open")).toBe("b");
    expect(takesOver(after("a~! b!|"), 0, "exhausted")).toBe("b");
    expect(takesOver(after("a!= b!|"), 0, "exhausted")).toBe("b");
    expect(takesOver(after("a! b c|", done("a")), 1, "exhausted")).toBeUndefined();
    expect(takesOver(after("a! b c|", done("a")), 1, "err")).toBe("c");
    expect(takesOver(after("a b"), 0, "err")).toBeUndefined();
  });

  it("[S-20][S-22] a retry by a person tries the fallback again, and leaves the step that gave way alone", () => {
    const stalled = after("a~ b! c!|", done("a"), gives("b", "err", "c"), {
      step: "c",
      status: "FAILED",
      details: failed("terminal"),
    });
    expect(stalled).toMatchObject({ status: "STALLED", stall: { kind: "forward-only", step: "c" } });
    const going = advance(stalled, control("$retry", { reason: "why" }), inTime, false).state;
    expect(next(going, inTime)).toMatchObject({ kind: "act", step: "c", attempt: 2 });
    expect(going.steps.map(({ act }) => act)).toEqual(["done", "refused", "retry"]);
  });

  it("[S-20] a line that names another step than its fallback is a typed error", () => {
    for (const plan of ["a b|", "a b| c", "a c"]) {
      expect(() => after(plan, gives("a", "err", "c"))).toThrow(
        expect.objectContaining({ code: "BAD_DEFINITION" }),
      );
    }
  });
});
