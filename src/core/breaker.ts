/**
 * A circuit breaker: after a number of consecutive failures it rejects calls, and after a wait it lets one probe
 * through. Pure: each function takes the state and the instant and returns the next state.
 */
import { machine, type EventOf, type Machine, type StateOf } from "./machine.ts";

const table = {
  closed: { trip: "open" },
  open: { probe: "halfOpen" },
  // A probe without an answer for this long is replaced by another one.
  halfOpen: { close: "closed", trip: "open", probe: "halfOpen" },
} as const;

export const breakerMachine: Machine<typeof table> = machine(table);

export type BreakerState = StateOf<typeof breakerMachine>;

export interface BreakerPolicy {
  /** The number of consecutive failures that open the breaker. */
  readonly threshold: number;
  /** How long the breaker stays open before it lets a probe through. */
  readonly resetMs: number;
}

export interface Breaker {
  readonly state: BreakerState;
  /** Consecutive failures while the breaker is closed. */
  readonly failures: number;
  /** When the breaker opened or its probe started. */
  readonly sinceMs: number;
  /** The number of the last probe: only its result counts. */
  readonly probes: number;
}

export const CLOSED: Breaker = { state: "closed", failures: 0, sinceMs: 0, probes: 0 };

/** The permit of a call that was let through; undefined if it was rejected. */
export type Pass = { readonly probe: number | undefined };

/** `unknown`: the call was interrupted. `answered`: the call failed, but its target works. */
export type Verdict = "ok" | "answered" | "failed" | "unknown";

/** Decides whether a call may be made now. */
export function admit(
  breaker: Breaker,
  { resetMs }: BreakerPolicy,
  nowMs: number,
): { readonly breaker: Breaker; readonly pass: Pass | undefined } {
  if (breaker.state === "closed") return { breaker, pass: { probe: undefined } };
  if (nowMs < breaker.sinceMs + resetMs) return { breaker, pass: undefined };
  const probe = breaker.probes + 1;
  return { breaker: { ...moved(breaker, "probe", nowMs), probes: probe }, pass: { probe } };
}

/** The next state after the outcome of a call that was let through. */
export function report(
  breaker: Breaker,
  { threshold, resetMs }: BreakerPolicy,
  nowMs: number,
  { probe }: Pass,
  verdict: Verdict,
): Breaker {
  if (breaker.state === "closed") {
    if (probe !== undefined || verdict === "unknown" || verdict === "answered") return breaker;
    if (verdict === "ok") return breaker.failures === 0 ? breaker : { ...breaker, failures: 0 };
    const failures = breaker.failures + 1;
    return failures < threshold ? { ...breaker, failures } : moved(breaker, "trip", nowMs);
  }
  // Outcomes of calls from before the breaker opened, and of probes that were replaced, are ignored.
  if (breaker.state === "open" || probe !== breaker.probes) return breaker;
  if (verdict === "failed") return moved(breaker, "trip", nowMs);
  // An interrupted probe has no result: the next call may probe at once.
  if (verdict === "unknown") return moved(breaker, "trip", nowMs - resetMs);
  return moved(breaker, "close", nowMs);
}

function moved(breaker: Breaker, event: EventOf<typeof breakerMachine>, nowMs: number): Breaker {
  const state = breakerMachine.target(breaker.state, event);
  if (state === undefined) throw new Error(`a breaker that is ${breaker.state} cannot ${event}`);
  return { ...breaker, state, failures: 0, sinceMs: nowMs };
}
