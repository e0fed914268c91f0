import { describe, expect, it } from "vitest";
import { control, started, type Entry, type Failure } from "../../../src/core/saga/entry.ts";
import { advance, needsStart } from "../../../src/core/saga/advance.ts";
import { decide, next, turnEntry, type Outcome } from "../../../src/core/saga/interpreter.ts";
import { decodePlan } from "../../../src/core/saga/plan.ts";
import { evolve } from "../../../src/core/saga/evolve.ts";
import { initial, type SagaState } from "../../../src/core/saga/state.ts";

const retry = { attemptMax: 3, baseMs: 10, capMs: 100, factor: 2 };
const inTime = { expired: false };
const OK: Outcome = { kind: "ok", details: '"value"' };

function line(step: string, action: "act" | "compensate", status: Entry["status"], failure?: Failure): Entry {
  return { step, action, status, details: failure ? JSON.stringify(failure) : null };
}

/** A saga after these lines, which are written as in a log: `a` done, `!a` refused, `?a` broken, `-a` undone. */
function after(plan: string, ...marks: string[]): SagaState {
  let state = initial(decodePlan(plan), true);
  for (const mark of marks) {
    const name = mark.replace(/^[!?-]/, "");
    const failure: Failure = mark.startsWith("!")
      ? { kind: "err", label: "no" }
      : { kind: "terminal", label: "T" };
    const entry = mark.startsWith("-")
      ? line(name, "compensate", "COMPLETED")
      : /^[!?]/.test(mark)
        ? line(name, "act", "FAILED", failure)
        : line(name, "act", "COMPLETED");
    state = advance(state, entry, inTime, true).state;
  }
  return state;
}

function act(state: SagaState) {
  const command = next(state, inTime);
  if (command.kind !== "act" && command.kind !== "undo") throw new Error(command.kind);
  return command;
}

describe("what comes next", () => {
  it("[S-01] the steps in their order, then the end", () => {
    expect(next(after("a b"), inTime)).toEqual({ kind: "act", index: 0, step: "a", attempt: 1 });
    expect(next(after("a b", "a"), inTime)).toEqual({ kind: "act", index: 1, step: "b", attempt: 1 });
    expect(after("a b", "a", "b").status).toBe("COMPLETED");
    expect(next(after("a b", "a", "b"), inTime)).toEqual({ kind: "end" });
  });

  it("[S-10] after a failure the undos in reverse, of what has one and may have happened", () => {
    const failed = after("a~ b c~ d~", "a", "b", "c", "!d");
    expect(failed.status).toBe("COMPENSATING");
    expect(next(failed, inTime)).toMatchObject({ kind: "undo", step: "c" });
    const one = after("a~ b c~ d~", "a", "b", "c", "!d", "-c");
    expect(next(one, inTime)).toMatchObject({ kind: "undo", step: "a" });
    expect(after("a~ b c~ d~", "a", "b", "c", "!d", "-c", "-a").status).toBe("FAILED");
  });

  it("[S-11] a step that broke is undone too; one that was refused only where it asks to be", () => {
    expect(next(after("a~ b~", "a", "?b"), inTime)).toMatchObject({ kind: "undo", step: "b" });
    expect(next(after("a~ b~", "a", "!b"), inTime)).toMatchObject({ kind: "undo", step: "a" });
    expect(next(after("a~ b~?", "a", "!b"), inTime)).toMatchObject({ kind: "undo", step: "b" });
    expect(next(after("a~ b~=", "a", "?b"), inTime)).toMatchObject({ kind: "undo", step: "a" });
  });

  it("[S-21] a deadline turns a saga back before its pivot has begun, and never after", () => {
    expect(next(after("a~ b"), { expired: true })).toEqual({ kind: "turn", why: "deadline" });
    expect(next(after("a~ b! c", "a"), { expired: true })).toMatchObject({ kind: "act", step: "b" });
    expect(next(after("a~ b! c", "a", "b"), { expired: true })).toMatchObject({ kind: "act", step: "c" });
  });

  it("[S-23] a cancel turns it back before the pivot, and names the step that it stood at", () => {
    const cancelled = evolve(after("a~ b", "a"), control("$cancel", { reason: "why", by: "me" }));
    expect(next(cancelled, inTime)).toEqual({ kind: "turn", why: "cancelled" });
    const entry = turnEntry(cancelled, "cancelled");
    expect(JSON.parse(entry.details as string)).toMatchObject({ kind: "cancelled", step: "b", by: "me" });
    expect(evolve(cancelled, entry)).toMatchObject({
      status: "COMPENSATING",
      failure: { kind: "cancelled" },
    });
  });

  it("[S-23] cancelling what has not begun ends it at once", () => {
    const recorded = initial(decodePlan("a~"), false);
    expect(evolve(recorded, control("$cancel", {}))).toMatchObject({ status: "FAILED" });
  });
});

describe("what an outcome means", () => {
  const transient: Outcome = { kind: "failed", transient: true, failure: { kind: "retry", label: "E" } };

  it("[K-01] a transient failure is tried again on the schedule, until its tries are used up", () => {
    let state = after("a~ b");
    const waits: unknown[] = [];
    for (let n = 0; n < 3; n++) {
      if (n > 0) state = evolve(state, started("a"));
      const { entry, waitMs } = decide(state, act(state), transient, retry);
      waits.push(waitMs);
      state = evolve(state, entry);
    }
    expect(waits).toEqual([10, 20, undefined]);
    expect(state).toMatchObject({ status: "COMPENSATING", failure: { kind: "exhausted", step: "a" } });
  });

  it("[S-22] after the pivot transient trouble is never given up on", () => {
    let state = after("a! b", "a");
    for (let n = 0; n < 20; n++) {
      if (n > 0) state = evolve(state, started("b"));
      const { entry, waitMs } = decide(state, act(state), transient, retry);
      expect(waitMs).toBe(Math.min(10 * 2 ** n, 100));
      state = evolve(state, entry);
    }
    expect(state.status).toBe("RUNNING");
  });

  it("[S-22] a permanent failure after the pivot stalls, and a person's retry goes forward", () => {
    const stalled = after("a! b", "a", "?b");
    expect(stalled).toMatchObject({ status: "STALLED", stall: { kind: "forward-only", step: "b" } });
    const again = evolve(stalled, control("$retry", { reason: "why" }));
    expect(again.status).toBe("RUNNING");
    expect(next(again, inTime)).toMatchObject({ kind: "act", step: "b" });
    expect(evolve(stalled, control("$skip", { step: "b" })).status).toBe("COMPLETED");
  });

  it("[S-14] an undo that used up its tries stalls the saga after the others were tried, with both errors", () => {
    let state = after("a~ b~ c", "a", "b", "!c");
    const failed: Outcome = { kind: "failed", transient: false, failure: { kind: "terminal", label: "U" } };
    state = advance(state, decide(state, act(state), failed, retry).entry, inTime, true).state;
    expect(next(state, inTime)).toMatchObject({ kind: "undo", step: "a" });
    state = evolve(state, decide(state, act(state), OK, retry).entry);
    expect(state).toMatchObject({
      status: "STALLED",
      stall: { kind: "undo-failed", step: "b", label: "U" },
      failure: { label: "no" },
    });
    expect(evolve(state, control("$skip", { step: "b" })).status).toBe("FAILED");
    expect(evolve(state, control("$retry", {})).status).toBe("COMPENSATING");
    expect(evolve(state, control("$resolve", { as: "COMPLETED" })).status).toBe("COMPLETED");
  });

  it("[S-05] a done step and the beginning of the next are one line", () => {
    const state = after("a b");
    const { entry, state: then } = advance(state, decide(state, act(state), OK, retry).entry, inTime, true);
    expect(entry).toMatchObject({ step: "a", status: "COMPLETED", next: { step: "b", action: "act" } });
    expect(needsStart(then, act(then))).toBe(false);
    expect(evolve(state, entry)).toEqual(then);
    const held = advance(state, decide(state, act(state), OK, retry).entry, inTime, false).state;
    expect(needsStart(held, act(held))).toBe(true);
  });

  it("[S-07] a call whose worker is gone is in doubt, and its next try must be begun anew", () => {
    const claimed = evolve(after("a~ b"), control("$claim", {}));
    expect(claimed.steps[0]).toMatchObject({ act: "retry", acts: 1 });
    expect(act(claimed)).toMatchObject({ step: "a", attempt: 2 });
    expect(needsStart(claimed, act(claimed))).toBe(true);
  });

  it("[K-14] a line that no arrow allows, or that names a foreign step, is refused loudly", () => {
    expect(() => evolve(after("a", "a"), control("$stall", {}))).toThrow("no arrow");
    expect(() => evolve(after("a"), line("z", "act", "COMPLETED"))).toThrow(
      expect.objectContaining({ code: "BAD_DEFINITION" }),
    );
    expect(() => decide(after("a"), { kind: "end" }, OK, retry)).toThrow("has no outcome");
  });
});
