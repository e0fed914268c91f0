/** Groups in the interpreter: what begins when, and what must hold whatever happens in whatever order. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { control, type Entry } from "../../../src/core/saga/entry.ts";
import { openingLines } from "../../../src/core/saga/steps/group.ts";
import { advance, needsStart } from "../../../src/core/saga/advance.ts";
import {
  decide,
  next,
  turnEntry,
  type ActCommand,
  type Facts,
  type Outcome,
} from "../../../src/core/saga/interpreter.ts";
import { decodePlan, misfit, type Plan } from "../../../src/core/saga/plan.ts";
import { evolve } from "../../../src/core/saga/evolve.ts";
import { initial, isActing, type SagaState } from "../../../src/core/saga/state.ts";

const retry = { attemptMax: 3, baseMs: 10, capMs: 100, factor: 2 };
const inTime = { expired: false };
const failed = (kind: "err" | "retry" | "terminal"): string => JSON.stringify({ kind, label: "L" });
const line = (step: string, status: Entry["status"], details: string | null = null): Entry => ({
  step,
  action: "act",
  status,
  details,
});

/** A saga as whoever starts it has it. */
function begun(plan: string): SagaState {
  const steps = decodePlan(plan);
  return openingLines(steps).reduce(evolve, initial(steps, true));
}

/** The names of the acts that may be called or begun now; undefined where something else comes next. */
function acts(state: SagaState, facts: Facts = inTime): readonly string[] | undefined {
  const command = next(state, facts);
  return command.kind === "group" ? command.acts.map(({ step }) => step) : undefined;
}

describe("what a group begins", () => {
  it("[S-24] all of its steps, or as many as may act at once, in the plan's order", () => {
    expect(acts(begun("a:&g b:&g c:&g"))).toEqual(["a", "b", "c"]);
    expect(acts(begun("a:&g/2 b:&g/2 c:&g/2"))).toEqual(["a", "b"]);
    const calling = new Set(["a", "b"]);
    expect(acts(begun("a:&g/2 b:&g/2 c:&g/2"), { ...inTime, calling })).toEqual([]);
  });

  it("[S-24][S-05] together with the line before it: the first in that line, the others beside it", () => {
    const { entry, more, state } = advance(begun("a b:&g c:&g d"), line("a", "COMPLETED"), inTime, true);
    expect(entry.next).toEqual({ step: "b", action: "act" });
    expect(more).toEqual([line("c", "STARTED")]);
    expect(state.steps.map(({ act }) => act)).toEqual(["done", "begun", "begun", "none"]);
  });

  it("[S-24] the next one where one has ended, and what comes after the group where all have", () => {
    const two = begun("a:&g/2 b:&g/2 c:&g/2 d");
    const one = advance(two, line("b", "COMPLETED"), { ...inTime, calling: new Set(["a"]) }, true);
    expect(one.entry.next).toEqual({ step: "c", action: "act" });
    const rest = [line("c", "COMPLETED"), line("a", "COMPLETED")].reduce(evolve, one.state);
    expect(next(rest, inTime)).toMatchObject({ kind: "act", step: "d" });
  });

  it("[S-24][S-13] none whose next try is not due; those that are, with the number of the try", () => {
    const waits = evolve(begun("a:&g b:&g"), line("a", "FAILED", failed("retry")));
    const calling = new Set(["b"]);
    expect(acts(waits, { ...inTime, calling, isResting: (step) => step === "a" })).toEqual([]);
    expect(next(waits, { ...inTime, calling })).toMatchObject({ acts: [{ step: "a", attempt: 2 }] });
  });
});

describe("a failure in a group", () => {
  it("[S-24] waits for those that act, begins none, and keeps the first reason", () => {
    const first = evolve(begun("a~:&g/2 b~:&g/2 c~:&g/2"), line("a", "FAILED", failed("err")));
    expect(first).toMatchObject({ status: "RUNNING", failure: { kind: "err", step: "a" } });
    expect(acts(first, { ...inTime, calling: new Set(["b"]) })).toEqual([]);
    const both = evolve(first, line("b", "FAILED", failed("terminal")));
    expect(both).toMatchObject({ status: "COMPENSATING", failure: { step: "a" } });
    expect(next(both, inTime)).toMatchObject({ kind: "undo", step: "b" });
  });

  it("[S-24] ends at once where nothing is left to wait for or to undo", () => {
    const first = evolve(begun("a:&g b:&g"), line("a", "FAILED", failed("err")));
    expect(evolve(first, line("b", "COMPLETED")).status).toBe("FAILED");
    expect(evolve(first, line("b", "FAILED", failed("retry"))).status).toBe("FAILED");
  });

  it("[S-24][S-06] holds over a crash: the claim changes no status, and the next line turns back", () => {
    const first = evolve(begun("a~:&g b~:&g"), line("a", "FAILED", failed("err")));
    const claimed = evolve(first, control("$claim", { by: "w", kind: "again" }));
    expect(claimed.status).toBe("RUNNING");
    expect(next(claimed, inTime)).toEqual({ kind: "turn", why: "failed" });
    const turned = evolve(claimed, turnEntry(claimed, "failed"));
    expect(turned).toMatchObject({ status: "COMPENSATING", failure: { kind: "err", step: "a" } });
    expect(next(turned, inTime)).toMatchObject({ kind: "undo", step: "b" });
  });

  it("[S-24] what had begun and was not called has not happened, unless an earlier try may have", () => {
    const base = evolve(begun("a~:&g b~:&g c~:&g"), line("a", "FAILED", failed("err")));
    const again = [line("b", "FAILED", failed("retry")), line("b", "STARTED")].reduce(evolve, base);
    const turned = evolve(again, turnEntry(again, "failed"));
    expect(turned.steps.map(({ act }) => act)).toEqual(["refused", "retry", "none"]);
    expect(next(turned, inTime)).toMatchObject({ kind: "undo", step: "b" });
  });

  it("[S-24][S-22] after the pivot stalls, and a retry tries all that failed anew", () => {
    const after = [
      line("p", "COMPLETED"),
      ...["a", "b"].map((step) => line(step, "STARTED")),
      line("a", "FAILED", failed("err")),
    ].reduce(evolve, begun("p! a:&g b:&g"));
    expect(after.status).toBe("RUNNING");
    const stalled = evolve(after, line("b", "FAILED", failed("terminal")));
    expect(stalled).toMatchObject({ status: "STALLED", stall: { kind: "forward-only", step: "a" } });
    const resumed = evolve(stalled, control("$retry", { reason: "why" }));
    expect(resumed).toMatchObject({ status: "RUNNING", failure: undefined });
    expect(acts(resumed)).toEqual(["a", "b"]);
  });
});

describe("the recorded groups", () => {
  it("[S-24][S-30] are read back, and a definition that moved a step among them does not fit", () => {
    const fits = (recorded: string, defined: string): string | undefined =>
      misfit(decodePlan(recorded), decodePlan(defined));
    expect(decodePlan("a~:&g/2 b:&g/2")).toMatchObject([{ group: { name: "g", limit: 2 } }, { undo: false }]);
    expect(fits("a:&g b:&g", "a:&g/2 b:&g/2 c:&g/2")).toBeUndefined();
    expect(fits("a:&g b:&g", "a b:&g")).toBe("step a left group g");
    expect(fits("a b", "a:&g b:&g")).toBe("step a joined group g; step b joined group g");
    expect(fits("a:&g b:&h", "a:&g b:&g")).toBe("step b moved from group h to g");
    for (const text of ["a:&", "a:&g/0", "a:&g/x", "a:&g+", "a:$&g", "a:b&c"])
      expect(() => decodePlan(text)).toThrow(expect.objectContaining({ code: "BAD_DEFINITION" }));
  });
});

/** One worker as the engine is one, and a world that counts effects without asking the interpreter. */
class Play {
  readonly plan: Plan;
  state: SagaState;
  readonly calling = new Map<number, ActCommand>();
  readonly effects = new Map<string, "done" | "doubt">();
  readonly wrong: string[] = [];

  constructor(text: string) {
    this.plan = decodePlan(text);
    this.state = begun(text);
  }

  get facts(): Facts {
    return { ...inTime, calling: new Set([...this.calling.values()].map(({ step }) => step)) };
  }

  /** Does whatever the interpreter says, until it waits for a call or the saga has ended. */
  goOn(pick: () => number): void {
    for (let turn = 0; turn < 200; turn++) {
      const command = next(this.state, this.facts);
      if (command.kind === "end") return;
      if (command.kind === "turn") this.write(turnEntry(this.state, command.why));
      else if (command.kind === "group") {
        if (command.acts.length === 0) return this.end(pick);
        for (const act of command.acts) this.beginOrCall(act);
      } else if (command.kind === "undo") {
        if (this.calling.size > 0) this.wrong.push(`${command.step} is undone while an act runs`);
        if (needsStart(this.state, command))
          this.write({ ...line(command.step, "STARTED"), action: "compensate" });
        this.effects.delete(command.step);
        this.write({ ...line(command.step, "COMPLETED"), action: "compensate" });
      } else if (command.kind === "act") {
        this.beginOrCall(command);
        if (this.calling.size > 0) return this.end(pick);
      }
    }
  }

  beginOrCall(act: ActCommand): void {
    if (needsStart(this.state, act)) return this.write(line(act.step, "STARTED"));
    if (this.calling.has(act.index)) this.wrong.push(`${act.step} is called twice at once`);
    this.calling.set(act.index, act);
    const limit = this.plan[act.index]?.group?.limit ?? Infinity;
    if (this.calling.size > limit) this.wrong.push(`${this.calling.size} act at once`);
    if (this.state.failure) this.wrong.push(`${act.step} is called after a failure`);
  }

  /** One of the calls ends, some way or other. */
  end(pick: () => number): void {
    const calls = [...this.calling.values()];
    const command = calls[pick() % calls.length];
    if (!command) return;
    this.calling.delete(command.index);
    const outcome = OUTCOMES[pick() % OUTCOMES.length] as Outcome;
    const isErr = outcome.kind === "failed" && outcome.failure.kind === "err";
    if (outcome.kind === "ok") this.effects.set(command.step, "done");
    else if (!isErr) this.effects.set(command.step, "doubt");
    this.write(decide(this.state, command, outcome, retry).entry);
  }

  crash(): void {
    for (const { step } of this.calling.values()) this.effects.set(step, "doubt");
    this.calling.clear();
    this.write(control("$claim", { by: "w", kind: "again" }));
  }

  write(entry: Entry): void {
    const before = this.state.status;
    this.state = evolve(this.state, entry);
    if (entry.step === "$claim" && this.state.status !== before) this.wrong.push("a claim moved the saga");
    if (this.state.status !== "RUNNING" && isActing(this.state))
      this.wrong.push(`${this.state.status} while acts have begun`);
  }
}

const OUTCOMES: readonly Outcome[] = [
  { kind: "ok", details: null },
  { kind: "ok", details: null },
  { kind: "ok", details: null },
  { kind: "failed", transient: true, failure: { kind: "retry", label: "E" } },
  { kind: "failed", transient: false, failure: { kind: "err", label: "no" } },
  { kind: "failed", transient: false, failure: { kind: "terminal", label: "T" } },
];

const PLANS = [
  "a~:&g b~:&g c~:&g",
  "a~ b~:&g/2 c~:&g/2 d~:&g/2 e~",
  "a:&g/1 b~:&g/1 c~",
  "a~:&g b:&g c~:&h/2 d~:&h/2 e:&h/2",
  "a~?:&g b~?:&g c!",
];

describe("any order of ends, crashes and cancels", () => {
  it("[S-24][S-10][S-14] ends, with everything done or everything undone, and no more at once than allowed", () => {
    const events = fc.array(fc.record({ kind: fc.nat(11), at: fc.nat(), how: fc.nat() }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.constantFrom(...PLANS), events, (text, given) => {
        const play = new Play(text);
        for (const { kind, at, how } of given) {
          const picks = [at, how];
          if (kind === 0 && play.state.status !== "PENDING" && !isOver(play)) play.crash();
          else if (
            kind === 1 &&
            play.state.status === "RUNNING" &&
            !play.state.cancel &&
            play.state.pivot < 0
          )
            play.write(control("$cancel", { reason: "why" }));
          else play.goOn(() => picks.shift() ?? 0);
        }
        for (let turn = 0; turn < 100 && !isOver(play); turn++) play.goOn(() => 0);
        expect(play.wrong).toEqual([]);
        expect(play.state.status).toMatch(/COMPLETED|FAILED|STALLED/);
        expect(halfDone(play)).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
  });
});

function isOver({ state }: Play): boolean {
  return ["COMPLETED", "FAILED", "STALLED"].includes(state.status);
}

/** What the end of a saga does not say of the world. */
function halfDone({ state, plan, effects }: Play): readonly string[] {
  if (state.status === "COMPLETED")
    return plan.filter(({ name }) => effects.get(name) !== "done").map(({ name }) => name);
  if (state.status !== "FAILED") return [];
  return plan.filter(({ name, undo }) => undo && effects.has(name)).map(({ name }) => name);
}
