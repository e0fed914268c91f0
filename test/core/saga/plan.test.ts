import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePlan, UNRECORDED_PLAN, encodePlan, misfit, type Plan } from "../../../src/core/saga/plan.ts";

const names = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,20}$/);
const plans = fc.uniqueArray(
  fc.record({
    name: names,
    undo: fc.boolean(),
    pivot: fc.boolean(),
    undoOnErr: fc.boolean(),
    atomic: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8, selector: (step) => step.name },
);

describe("the recorded list of steps", () => {
  it("[S-30] comes back exactly as it was written", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        expect(decodePlan(encodePlan(plan))).toEqual(plan);
      }),
    );
  });

  it("[S-25][S-30] says what is waited for and how long, and comes back exactly", () => {
    const wait = fc.oneof(
      fc.record({ kind: fc.constant("sleep" as const), limitMs: fc.nat() }),
      fc.record(
        {
          kind: fc.constantFrom("signal" as const, "event" as const),
          target: names,
          limitMs: fc.nat(),
          goesOn: fc.constant(true as const),
        },
        { requiredKeys: ["kind", "target"] },
      ),
    );
    fc.assert(
      fc.property(plans, wait, fc.nat(), (plan, waits, pick) => {
        const waiting = plan.map((step, at) => (at === pick % plan.length ? { ...step, wait: waits } : step));
        expect(decodePlan(encodePlan(waiting))).toEqual(waiting);
      }),
    );
    const text = "reserve~ nap/7200000 approval:approved/259200000 paid:$Paid+ ship!";
    expect(encodePlan(decodePlan(text))).toBe(text);
  });

  it("[S-20][S-30] says which step is the fallback of the one before it, and comes back exactly", () => {
    fc.assert(
      fc.property(plans, fc.nat(), (plan, pick) => {
        const at = pick % plan.length;
        const [name, before] = [plan[at]?.name ?? "", plan[at - 1]?.name];
        const branching = plan.map((step, index) => ({
          ...step,
          ...(index === at && before !== undefined && { instead: before }),
          ...(index === at - 1 && { fallback: name }),
        }));
        expect(decodePlan(encodePlan(branching))).toEqual(branching);
      }),
    );
    const text = "reserve~ charge~ invoice~?| ship! fly!| email";
    expect(encodePlan(decodePlan(text))).toBe(text);
    for (const wrong of ["a|", "a b| c|", "a/5 b|", "a b|/5", "a b||", "a b|~"]) {
      expect(() => decodePlan(wrong)).toThrow(expect.objectContaining({ code: "BAD_DEFINITION" }));
    }
  });

  it("[S-30] is short and can be read in a database shell", () => {
    expect(encodePlan(decodePlan("reserve~ charge~? ship! email="))).toBe("reserve~ charge~? ship! email=");
  });

  it("[S-47] that is not recorded has no steps", () => {
    expect([decodePlan(""), decodePlan(UNRECORDED_PLAN)]).toEqual([[], []]);
  });

  it("[S-30] that cannot be read is a typed error", () => {
    for (const text of ["~", "a  b", "a~b", " a", "a:", "a/", "a/x", "a+", "a:b:c", "a:b/1/2", ":b"]) {
      expect(() => decodePlan(text)).toThrow(expect.objectContaining({ code: "BAD_DEFINITION" }));
    }
  });
});

describe("a definition held against it", () => {
  const fits = (recorded: string, defined: string): string | undefined =>
    misfit(decodePlan(recorded), decodePlan(defined));

  it("[S-30] fits itself, and fits when steps were only added or undos gained", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        expect(misfit(plan, plan)).toBeUndefined();
      }),
    );
    expect(fits("a~ b", "a~ new b last")).toBeUndefined();
    expect(fits("a b", "a~ b")).toBeUndefined();
  });

  it("[S-30] that lost or moved a recorded step, or an undo, does not fit, and says how", () => {
    expect(fits("a b", "a")).toBe("step b is missing");
    expect(fits("a b", "b a")).toBe("step b was moved");
    expect(fits("a~ b", "a b")).toBe("step a lost its undo");
    expect(fits("a b!", "a b")).toBe("step b is no longer the pivot");
    expect(fits("a b", "a! b")).toBe("step a became the pivot");
    expect(fits("a= b", "a b")).toBe("step a is no longer transactional");
    expect(fits("a b", "a b=")).toBe("step b became transactional");
    expect(fits("a~ b c", "c a")).toBe("step a lost its undo; step b is missing; step c was moved");
  });

  it("[S-25][S-30] that waits for something else, or where it did not wait, does not fit; another limit does", () => {
    expect(fits("a:go", "a")).toBe("step a no longer waits");
    expect(fits("a", "a:go")).toBe("step a became a wait");
    expect(fits("a:go", "a:come")).toBe("step a waits for signal come, not for signal go");
    expect(fits("a:go", "a:$go")).toBe("step a waits for event go, not for signal go");
    expect(fits("a/5", "a:go/5")).toBe("step a waits for signal go, not for time to pass");
    expect(fits("a:go/5", "a:go/9+")).toBeUndefined();
  });

  it("[S-20][S-30] that lost a fallback or made one of a step does not fit; one that gained a fallback does", () => {
    expect(fits("a b|", "a")).toBe("step b is missing");
    expect(fits("a b|", "a b")).toBe("step b is no longer the fallback of a");
    expect(fits("a b", "a b|")).toBe("step b became the fallback of a");
    expect(fits("a b| c", "a c b|")).toContain("step b became the fallback of c");
    expect(fits("a b|", "a~ b~|")).toBeUndefined();
    expect(fits("a c", "a b| c")).toBeUndefined();
  });

  it("[S-30] never loses an undo silently", () => {
    fc.assert(
      fc.property(plans, fc.nat(), (plan, pick) => {
        const index = pick % plan.length;
        const without: Plan = plan.map((step, at) => (at === index ? { ...step, undo: false } : step));
        expect(misfit(plan, without) !== undefined).toBe(plan[index]?.undo);
        const shorter = plan.filter((_, at) => at !== index);
        expect(misfit(plan, shorter)).toContain("is missing");
      }),
    );
  });
});
