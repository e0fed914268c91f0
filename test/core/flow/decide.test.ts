import { expect, it } from "vitest";
import { decide, expects, type FlowEvent, type StepEnd } from "../../../src/core/flow/decide.ts";
import { flowMachine } from "../../../src/core/flow/machine.ts";
import { notTaken } from "../../../src/core/flow/path.ts";
import { BEGUN, type FlowPlan, type FlowState, type UndoKind } from "../../../src/core/flow/state.ts";

/** Steps one after the other, named a, b, c: each takes what the one before it gives. */
function chainOf(...undos: readonly UndoKind[]): FlowPlan {
  const steps = undos.map((kind, index) => ({
    name: "abcd"[index] as string,
    undo: kind,
    takes: [`E${index}`],
    gives: [`E${index + 1}`],
  }));
  return { trigger: "E0", steps };
}

const plan = chainOf("answered", "sent", "none", "answered");

/** a chooses; b and c run beside each other, and d takes what both give; e is the other branch. */
function branchingOf(...undos: readonly UndoKind[]): FlowPlan {
  const of = (index: number, takes: readonly string[], gives: readonly string[]) => ({
    name: "abcde"[index] as string,
    undo: undos[index] ?? "none",
    takes,
    gives,
  });
  return {
    trigger: "T",
    steps: [
      of(0, ["T"], ["Yes", "No"]),
      of(1, ["Yes"], ["B"]),
      of(2, ["Yes"], ["C"]),
      of(3, ["B", "C"], ["D"]),
      of(4, ["No"], ["E"]),
    ],
  };
}
const branching = branchingOf("sent", "answered", "answered", "none", "answered");

function applied(
  state: FlowState,
  event: FlowEvent,
  of: FlowPlan = plan,
): { state: FlowState; emit: string[] } {
  const verdict = decide(of, state, event);
  if (verdict.kind !== "applied") throw new Error(`was ${verdict.kind}`);
  return {
    state: verdict.state,
    emit: verdict.emit.map((one) => ("step" in one ? `${one.kind} ${one.step}` : one.kind)),
  };
}

const act = (step: string, end: StepEnd = "ok"): FlowEvent => ({
  kind: "act",
  step,
  end,
  error: end === "ok" ? "" : "Why",
});
const undo = (step: string, end: StepEnd = "ok"): FlowEvent => ({ kind: "undo", step, end, error: "" });
const through = (...events: FlowEvent[]): FlowState =>
  events.reduce((state, event) => applied(state, event).state, BEGUN);

it("[F-06] every success sends the step's event, the last one also what the saga has to say", () => {
  expect(applied(BEGUN, act("a"))).toEqual({
    state: { ...BEGUN, currentStep: 1, completedSteps: ["a"] },
    emit: ["result"],
  });
  const end = applied(through(act("a"), act("b"), act("c")), act("d"));
  expect(end.emit).toEqual(["result", "completed"]);
  expect(end.state).toMatchObject({
    status: "completed",
    currentStep: 4,
    completedSteps: ["a", "b", "c", "d"],
  });
});

it("[F-10][F-11] a failure sends its event, then commands in reverse up to the first that is answered", () => {
  const turned = applied(through(act("a"), act("b"), act("c")), act("d", "err"));
  expect(turned.emit).toEqual(["result", "command b", "command a"]);
  expect(turned.state).toMatchObject({
    status: "compensating",
    undoSteps: ["a"],
    failure: { step: "d", error: "Why" },
  });
  expect(applied(turned.state, undo("a"))).toMatchObject({
    state: { status: "failed", undoSteps: [] },
    emit: ["result", "failed"],
  });
});

it("[F-10] a failure with nothing to undo fails at once", () => {
  expect(applied(BEGUN, act("a", "err"))).toMatchObject({
    state: { status: "failed" },
    emit: ["result", "failed"],
  });
});

it("[F-12] a step that used up its tries is undone too, first, and has no event of its own", () => {
  const turned = applied(through(act("a"), act("b"), act("c")), act("d", "exhausted"));
  expect(turned).toMatchObject({
    state: { status: "compensating", undoSteps: ["d", "b", "a"] },
    emit: ["command d"],
  });
  expect(applied(turned.state, undo("d")).emit).toEqual(["result", "command b", "command a"]);
});

it("[F-11] an undo that fails stalls the run: retried it is sent again, resolved it goes on with the rest", () => {
  const turned = applied(through(act("a"), act("b"), act("c")), act("d", "exhausted")).state;
  for (const end of ["err", "exhausted"] as const) {
    const stalled = applied(turned, undo("d", end));
    expect(stalled.state).toMatchObject({ status: "stalled", undoSteps: ["d", "b", "a"] });
    expect(stalled.emit).toEqual(end === "err" ? ["result"] : []);
    expect(applied(stalled.state, { kind: "retry" })).toMatchObject({
      state: { status: "compensating" },
      emit: ["command d"],
    });
    const resolved = applied(stalled.state, { kind: "resolve" });
    expect(resolved).toMatchObject({
      state: { status: "compensating", undoSteps: ["a"] },
      emit: ["command b", "command a"],
    });
  }
});

it("[F-13][F-16] past its deadline a run waits for the handler that still runs, and undoes what that did", () => {
  const late = applied(through(act("a")), { kind: "deadline", delivery: "running" });
  expect(late).toMatchObject({
    state: { status: "compensating", lateSteps: ["b"], undoSteps: ["a"] },
    emit: [],
  });
  expect(applied(late.state, act("b")).emit).toEqual(["command b", "command a"]);
  expect(applied(late.state, act("b")).state).toMatchObject({
    lateSteps: [],
    completedSteps: ["a", "b"],
    undoSteps: ["a"],
  });
  expect(applied(late.state, act("b", "err")).emit).toEqual(["result", "command a"]);
  expect(applied(late.state, act("b", "exhausted")).emit).toEqual(["command b", "command a"]);
});

it("[F-16] a run that turns back at its deadline undoes its steps in reverse, also while a handler runs", () => {
  const done = through(act("a"), act("b"), act("c"));
  for (const delivery of ["unbegun", "running"] as const) {
    const late = applied(done, { kind: "deadline", delivery });
    const rest = delivery === "running" ? applied(late.state, act("d", "err")) : late;
    expect(rest.emit.filter((one) => one !== "result")).toEqual(["command b", "command a"]);
  }
});

it("[F-16] a handler that never began has nothing to undo, one that is in doubt has", () => {
  expect(applied(through(act("a")), { kind: "deadline", delivery: "unbegun" }).emit).toEqual(["command a"]);
  expect(applied(through(act("a")), { kind: "deadline", delivery: "doubtful" }).emit).toEqual([
    "command b",
    "command a",
  ]);
  expect(applied(BEGUN, { kind: "deadline", delivery: "unbegun" }).state.failure).toEqual({
    step: "a",
    error: "DeadlinePassed",
  });
});

it("[F-08] a result of a past step is ignored, one of a step that is not due yet is a breach of contract", () => {
  const state = through(act("a"), act("b"));
  expect(decide(plan, state, act("a"))).toEqual({ kind: "ignored" });
  expect(decide(plan, state, act("b", "err"))).toEqual({ kind: "ignored" });
  expect(decide(plan, state, act("d"))).toEqual({ kind: "early" });
  expect(decide(plan, state, act("nobody"))).toEqual({ kind: "early" });
  const renamed = { ...plan, steps: plan.steps.map((one, at) => (at === 0 ? { ...one, name: "x" } : one)) };
  expect(expects(renamed, state, "c")).toBe("early");
});

const answered = (step: string, answer: string): FlowEvent => ({ ...act(step), answer }) as FlowEvent;

it("[F-24] the answer decides what is due; a step that takes several events is due with the last of them", () => {
  const begin = (answer: string): FlowState => applied(BEGUN, answered("a", answer), branching).state;
  const yes = begin("Yes");
  expect(yes.answers).toEqual({ a: "Yes" });
  expect(["b", "c", "d", "e"].map((step) => expects(branching, yes, step))).toEqual([
    "due",
    "due",
    "early",
    "early",
  ]);
  expect(notTaken(branching, yes)).toEqual(["e"]);
  const one = applied(yes, act("c"), branching);
  expect([one.emit, expects(branching, one.state, "d")]).toEqual([["result"], "early"]);
  const both = applied(one.state, act("b"), branching);
  expect([both.emit, expects(branching, both.state, "d")]).toEqual([["result"], "due"]);
  expect(applied(both.state, act("d"), branching)).toMatchObject({
    state: { status: "completed", completedSteps: ["a", "c", "b", "d"] },
    emit: ["result", "completed"],
  });
  const no = begin("No");
  expect(notTaken(branching, no)).toEqual(["b", "c", "d"]);
  expect(applied(no, act("e"), branching).emit).toEqual(["result", "completed"]);
  expect(decide(branching, BEGUN, answered("a", "Perhaps"))).toEqual({ kind: "early" });
});

it("[F-24][F-10] a failure waits for the steps beside it, then everything that ran is undone in reverse", () => {
  const yes = applied(BEGUN, answered("a", "Yes"), branching).state;
  const failed = applied(yes, act("b", "err"), branching);
  expect(failed).toMatchObject({
    state: { status: "compensating", lateSteps: ["c"], undoSteps: ["a"] },
    emit: ["result"],
  });
  expect(applied(failed.state, act("c"), branching)).toMatchObject({
    state: { lateSteps: [], undoSteps: ["c", "a"], completedSteps: ["a", "c"] },
    emit: ["command c"],
  });
  expect(applied(failed.state, act("c", "err"), branching).emit).toEqual(["result", "command a", "failed"]);
  const late = applied(yes, { kind: "deadline", delivery: "doubtful", step: "c" }, branching);
  expect(late).toMatchObject({ state: { lateSteps: ["b"], undoSteps: ["c", "a"] }, emit: [] });
});

/** Every event there is, for every step. */
function everyEvent(of: FlowPlan): FlowEvent[] {
  const ends: StepEnd[] = ["ok", "err", "exhausted"];
  const results = of.steps.flatMap(({ name, gives }) => [
    ...ends.flatMap((end) => [act(name, end), undo(name, end)]),
    ...(gives.length > 1 ? gives.map((answer) => answered(name, answer)) : []),
  ]);
  const deadlines = (["unbegun", "doubtful", "running"] as const).map(
    (delivery) => ({ kind: "deadline", delivery }) as const,
  );
  return [...results, ...deadlines, { kind: "retry" }, { kind: "resolve" }];
}

const UNDOS: readonly UndoKind[] = ["none", "sent", "answered"];
const plans = UNDOS.flatMap((first) =>
  UNDOS.flatMap((second) => UNDOS.map((third) => chainOf(first, second, third))),
);

const branchings = UNDOS.flatMap((a) => UNDOS.flatMap((b) => UNDOS.map((c) => branchingOf(a, b, c, b, a))));

it("[F-08][F-10][F-11][K-14] every event in every state that can be reached follows an arrow, and failed means undone", () => {
  let reached = 0;
  for (const of of [...plans, ...branchings]) {
    const seen = new Map<string, FlowState>();
    const open: { state: FlowState; commands: readonly string[] }[] = [{ state: BEGUN, commands: [] }];
    while (open.length > 0) {
      const { state, commands } = open.pop() as (typeof open)[number];
      const key = JSON.stringify([state, commands]);
      if (seen.has(key)) continue;
      seen.set(key, state);
      for (const event of everyEvent(of)) {
        const verdict = decide(of, state, event);
        expect(verdict.kind === "applied" && flowMachine.isTerminal(state.status)).toBe(false);
        if (verdict.kind !== "applied") continue;
        expect(flowMachine.arrow(state.status, verdict.state.status)).toBeDefined();
        const sent = [
          ...commands,
          ...verdict.emit.flatMap((one) => (one.kind === "command" ? [one.step] : [])),
        ];
        expect(wrong(of, verdict.state, sent)).toEqual([]);
        // A person may ask for the same undo again and again: once is enough to see what it does.
        if (new Set(sent).size === sent.length) open.push({ state: verdict.state, commands: sent });
      }
    }
    reached += seen.size;
  }
  expect(reached).toBeGreaterThan(500);
});

/** What holds in every state: what was done and can be undone was commanded, is to be, or waits for the late handler. */
function wrong(of: FlowPlan, state: FlowState, sent: readonly string[]): readonly string[] {
  const { status, completedSteps, undoSteps, lateSteps, failure } = state;
  const isBack = status === "compensating" || status === "stalled";
  const undoable = completedSteps.filter(
    (name) => of.steps.find((step) => step.name === name)?.undo !== "none",
  );
  const lost = undoable.filter((name) => !sent.includes(name) && !undoSteps.includes(name));
  return [
    ...(sent.length > 0 && !isBack && status !== "failed" ? ["a command while it went forward"] : []),
    ...(lost.length > 0 && (isBack || status === "failed") ? [`${lost.join()} never undone`] : []),
    ...(isBack && failure === undefined ? ["nobody knows why"] : []),
    ...(isBack && lateSteps.length === 0 && undoSteps.length === 0 ? ["it waits for nothing"] : []),
  ];
}
