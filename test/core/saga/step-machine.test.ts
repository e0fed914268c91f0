import { describe, expect, it } from "vitest";
import { control, started, type Entry } from "../../../src/core/saga/entry.ts";
import { evolve } from "../../../src/core/saga/evolve.ts";
import { decodePlan } from "../../../src/core/saga/plan.ts";
import { initial, type SagaState, type StepState } from "../../../src/core/saga/state.ts";
import {
  actMachine,
  undoMachine,
  type ActState,
  type UndoState,
} from "../../../src/core/saga/steps/machine.ts";

/** Written out by hand, so that a change of a table is a change of two places. */
const ACT: Readonly<Record<ActState, Partial<Record<string, ActState>>>> = {
  none: { begin: "begun", wait: "waiting", choose: "chosen" },
  chosen: { begin: "begun" },
  begun: {
    succeed: "done",
    fail: "retry",
    refuse: "refused",
    break: "broken",
    interrupt: "retry",
    withhold: "none",
    list: "listed",
    rest: "waiting",
  },
  listed: { succeed: "done" },
  waiting: { succeed: "done", begin: "begun", refuse: "refused", break: "broken", skip: "skipped" },
  retry: {
    begin: "begun",
    wait: "waiting",
    succeed: "done",
    list: "listed",
    rest: "waiting",
    skip: "skipped",
  },
  refused: { reopen: "retry", skip: "skipped" },
  broken: {
    reopen: "retry",
    succeed: "done",
    list: "listed",
    rest: "waiting",
    withhold: "none",
    skip: "skipped",
  },
  done: {},
  skipped: {},
};

const UNDO: Readonly<Record<UndoState, Partial<Record<string, UndoState>>>> = {
  none: { begin: "begun" },
  begun: { succeed: "done", fail: "retry", giveUp: "failed", interrupt: "retry", rest: "waiting" },
  waiting: { succeed: "done", begin: "begun" },
  retry: { begin: "begun", succeed: "done", rest: "waiting" },
  failed: { reopen: "retry", succeed: "done", rest: "waiting", skip: "skipped" },
  done: {},
  skipped: {},
};

describe("the machines of a step", () => {
  it("[K-14] every pair of state and event of an act is either defined or refused", () => {
    expect([actMachine.initial, actMachine.states]).toEqual(["none", Object.keys(ACT)]);
    for (const state of actMachine.states)
      for (const event of actMachine.events)
        expect([state, event, actMachine.target(state, event)]).toEqual([state, event, ACT[state][event]]);
  });

  it("[K-14] every pair of state and event of an undo is either defined or refused", () => {
    expect([undoMachine.initial, undoMachine.states]).toEqual(["none", Object.keys(UNDO)]);
    for (const state of undoMachine.states)
      for (const event of undoMachine.events)
        expect([state, event, undoMachine.target(state, event)]).toEqual([state, event, UNDO[state][event]]);
  });

  it("[K-13] what is done or was skipped by a person stays so", () => {
    expect(actMachine.terminal).toEqual(["done", "skipped"]);
    expect(undoMachine.terminal).toEqual(["done", "skipped"]);
  });
});

/** What each line asks of the act, or of the undo, of the step that it names. */
const failed = (kind: string): string => JSON.stringify({ kind, label: "L" });
const act = (status: Entry["status"], details: string | null): Entry => ({
  ...started("a"),
  status,
  details,
});
const undo = (status: Entry["status"], details: string | null): Entry => ({
  ...act(status, details),
  action: "compensate",
});

function orRefusal(move: () => unknown): unknown {
  try {
    return move();
  } catch (error) {
    return (error as Error).message;
  }
}

describe("what a line makes of a step", () => {
  const plan = decodePlan("a~ b~");
  const saga = (step: Partial<StepState>, status: SagaState["status"]): SagaState => {
    const state = initial(plan, false);
    const [first, second] = state.steps as [StepState, StepState];
    return { ...state, status, steps: [{ ...first, acts: 1, ...step }, second] };
  };
  const lines: readonly (readonly [Entry, string])[] = [
    [act("STARTED", null), "begin"],
    [act("COMPLETED", null), "succeed"],
    [act("FAILED", failed("retry")), "fail"],
    [act("FAILED", failed("err")), "refuse"],
    [act("FAILED", failed("terminal")), "break"],
    [act("FAILED", failed("open")), "withhold"],
  ];

  it.each(lines)(
    "[K-14] an act moves by its table where its line is %o, or the line is refused",
    (line, event) => {
      for (const state of actMachine.states) {
        const to = ACT[state][event];
        const moved = (): unknown => evolve(saga({ act: state }, "RUNNING"), line).steps[0]?.act;
        const refusal = `no arrow for ${event} in state ${state}`;
        expect([state, orRefusal(moved)]).toEqual([state, to ?? refusal]);
      }
    },
  );

  it.each([
    [undo("STARTED", null), "begin"],
    [undo("COMPLETED", null), "succeed"],
    [undo("FAILED", failed("retry")), "fail"],
    [undo("FAILED", failed("terminal")), "giveUp"],
  ] as const)(
    "[K-14] an undo moves by its table where its line is %o, or the line is refused",
    (line, event) => {
      for (const state of undoMachine.states) {
        const to = UNDO[state][event];
        const step = { act: "done", undo: state } as const;
        const moved = (): unknown => evolve(saga(step, "COMPENSATING"), line).steps[0]?.undo;
        const refusal = `no arrow for ${event} in state ${state}`;
        expect([state, orRefusal(moved)]).toEqual([state, to ?? refusal]);
      }
    },
  );

  it("[S-11] a claim leaves whatever had begun in doubt, and nothing else changes", () => {
    for (const state of actMachine.states) {
      const [after] = evolve(saga({ act: state }, "RUNNING"), control("$claim", {})).steps;
      expect([state, after?.act]).toEqual([state, ACT[state]["interrupt"] ?? state]);
    }
    for (const state of undoMachine.states) {
      const before = saga({ act: "done", undo: state }, "COMPENSATING");
      const [after] = evolve(before, control("$release", {})).steps;
      expect([state, after?.undo]).toEqual([state, UNDO[state]["interrupt"] ?? state]);
    }
  });
});
