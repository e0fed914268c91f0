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

  it.each([
    ["ok", "closed", 0],
    ["answered", "closed", 0],
    ["failed", "open", 100],
    ["unknown", "open", 0],
  ] as const)("[S-20] a probe that is %s leaves it %s", (verdict, state, waitMs) => {
    const { breaker, pass } = admit(open, policy, 150);
    const settled = report(breaker, policy, 160, pass as Pass, verdict);
    expect(settled.state).toBe(state);
    if (state === "open") {
      expect(admit(settled, policy, 160 + waitMs - 1).pass).toBeUndefined();
      expect(admit(settled, policy, 160 + waitMs).pass).toBeDefined();
    } else expect(report(settled, policy, 170, call, "failed").failures).toBe(1);
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

  it("[S-20] whatever happens, every change is an arrow, and at most one probe is let through per reset time", () => {
    const steps = fc.array(
      fc.record({
        wait: fc.integer({ min: 0, max: 120 }),
        verdict: fc.constantFrom(...VERDICTS),
        late: fc.boolean(),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (happenings) => {
        let breaker = CLOSED;
        let now = 0;
        let lastProbe = -Infinity;
        const under: Pass[] = [];
        const become = (next: Breaker): void => {
          if (next.state !== breaker.state)
            expect(breakerMachine.arrow(breaker.state, next.state)).toBeDefined();
          breaker = next;
        };
        for (const { wait, verdict, late } of happenings) {
          now += wait;
          const admitted = admit(breaker, policy, now);
          become(admitted.breaker);
          if (admitted.pass?.probe !== undefined) {
            const isAlone = now - lastProbe >= policy.resetMs;
            if (!isAlone)
              expect(under.every(({ probe }) => probe === undefined || probe < breaker.probes)).toBe(true);
            lastProbe = now;
          }
          if (admitted.pass) under.push(admitted.pass);
          const ended = late ? under.shift() : under.pop();
          if (ended) become(report(breaker, policy, now, ended, verdict));
        }
      }),
    );
  });
});
