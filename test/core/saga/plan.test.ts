import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePlan, encodePlan, misfit, type Plan } from "../../../src/core/saga/plan.ts";

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

  it("[S-30] is short and can be read in a database shell", () => {
    expect(encodePlan(decodePlan("reserve~ charge~? ship! email="))).toBe("reserve~ charge~? ship! email=");
  });

  it("[S-30] that cannot be read is a typed error", () => {
    for (const text of ["", "~", "a  b", "a~b", " a"]) {
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
