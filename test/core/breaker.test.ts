import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  admit,
  breakerMachine,
  CLOSED,
  report,
  type Breaker,
  type Pass,
  type Verdict,
} from "../../src/core/breaker.ts";

const policy = { threshold: 3, resetMs: 100 };
const call: Pass = { probe: undefined };
const VERDICTS: readonly Verdict[] = ["ok", "answered", "failed", "unknown"];

function after(verdicts: readonly Verdict[], nowMs = 0): Breaker {
  return verdicts.reduce((breaker, verdict) => report(breaker, policy, nowMs, call, verdict), CLOSED);
}

const open = after(["failed", "failed", "failed"], 50);

describe("a circuit breaker", () => {
  it("[S-20] is closed, open or half-open, and never ends", () => {
    expect(breakerMachine.states).toEqual(["closed", "open", "halfOpen"]);
    expect(breakerMachine.terminal).toEqual([]);
  });

  it("[S-20] opens after so many failures in a row, counting neither what was excluded nor what was interrupted", () => {
    expect(after(["failed", "failed"]).state).toBe("closed");
    expect(after(["failed", "failed", "ok", "failed", "failed"]).state).toBe("closed");
    expect(after(["failed", "answered", "failed", "unknown"]).state).toBe("closed");
    expect(after(["failed", "answered", "failed", "unknown", "failed"]).state).toBe("open");
    expect(report(CLOSED, { threshold: 1, resetMs: 1 }, 0, call, "failed").state).toBe("open");
  });

  it("[S-20] lets nothing through while it is open, and one probe at the very instant that its reset time is over", () => {
    expect(admit(open, policy, 149).pass).toBeUndefined();
    const { breaker, pass } = admit(open, policy, 150);
    expect(breaker.state).toBe("halfOpen");
    expect(pass).toEqual({ probe: 1 });
    expect(admit(breaker, policy, 150).pass).toBeUndefined();
  });

  it.each(["ok", "answered"] as const)(
    "[S-20] a probe that is %s closes it, and counting begins anew",
    (verdict) => {
      const { breaker, pass } = admit(open, policy, 150);
      const closed = report(breaker, policy, 160, pass as Pass, verdict);
      expect(closed.state).toBe("closed");
      expect(report(closed, policy, 170, call, "failed").failures).toBe(1);
    },
  );

  it.each([
    ["failed", 100],
    ["unknown", 0],
  ] as const)("[S-20] a probe that is %s leaves it open for %i ms more", (verdict, waitMs) => {
    const { breaker, pass } = admit(open, policy, 150);
    const still = report(breaker, policy, 160, pass as Pass, verdict);
    expect(still.state).toBe("open");
    expect(admit(still, policy, 160 + waitMs - 1).pass).toBeUndefined();
    expect(admit(still, policy, 160 + waitMs).pass).toBeDefined();
  });

  it("[S-20] a probe of which nothing is heard makes room for another, and then no longer counts", () => {
    const first = admit(open, policy, 150);
    expect(admit(first.breaker, policy, 249).pass).toBeUndefined();
    const second = admit(first.breaker, policy, 250);
    expect(second.pass).toEqual({ probe: 2 });
    expect(report(second.breaker, policy, 260, first.pass as Pass, "ok")).toBe(second.breaker);
    expect(report(second.breaker, policy, 260, second.pass as Pass, "ok").state).toBe("closed");
  });

  it("[S-20] what was let through in another state than it comes back to changes nothing", () => {
    const { breaker, pass } = admit(open, policy, 150);
    for (const verdict of VERDICTS) {
      expect(report(open, policy, 60, call, verdict)).toBe(open);
      expect(report(breaker, policy, 160, call, verdict)).toBe(breaker);
      expect(report(CLOSED, policy, 160, pass as Pass, verdict)).toBe(CLOSED);
    }
  });

  it("[S-20] whatever happens, every change is an arrow, and no second probe is let through within one's reset time", () => {
    const happenings = fc.array(
      fc.record({
        waitMs: fc.integer({ min: 0, max: 120 }),
        verdict: fc.constantFrom(...VERDICTS),
        isLate: fc.boolean(),
        ends: fc.boolean(),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(happenings, (all) => {
        expect(wrongIn(all)).toEqual([]);
      }),
    );
  });
});

interface Happening {
  readonly waitMs: number;
  readonly verdict: Verdict;
  /** The oldest call ends, not the newest. */
  readonly isLate: boolean;
  readonly ends: boolean;
}

/** Lets calls come and go, and says what was wrong with it. */
function wrongIn(happenings: readonly Happening[]): readonly string[] {
  const wrong: string[] = [];
  const under: { readonly pass: Pass; readonly sinceMs: number }[] = [];
  let breaker = CLOSED;
  let nowMs = 0;
  const become = (changed: Breaker): void => {
    const { state } = breaker;
    if (changed.state !== state && !breakerMachine.arrow(state, changed.state))
      wrong.push(`${state} became ${changed.state}`);
    breaker = changed;
  };
  for (const { waitMs, verdict, isLate, ends } of happenings) {
    nowMs += waitMs;
    const { breaker: asked, pass } = admit(breaker, policy, nowMs);
    const isProbed = under.some(
      (one) => one.pass.probe !== undefined && nowMs - one.sinceMs < policy.resetMs,
    );
    if (pass?.probe !== undefined && isProbed) wrong.push("two probes at once");
    if (pass && breaker.state !== "closed" && pass.probe === undefined) wrong.push("let through while open");
    become(asked);
    if (pass) under.push({ pass, sinceMs: nowMs });
    const ended = ends ? (isLate ? under.shift() : under.pop()) : undefined;
    if (ended) become(report(breaker, policy, nowMs, ended.pass, verdict));
  }
  return wrong;
}
