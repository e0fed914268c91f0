/**
 * A circuit breaker: after so many failures in a row it keeps callers away from what is broken, and after a while it lets
 * one of them try. Pure: what it is goes in with the instant, and what it becomes comes out.
 */
import { machine, type EventOf, type Machine, type StateOf } from "./machine.ts";

const table = {
  closed: { trip: "open" },
  open: { probe: "halfOpen" },
  // A probe of which nothing is heard makes room for another one.
  halfOpen: { close: "closed", trip: "open", probe: "halfOpen" },
} as const;

export const breakerMachine: Machine<typeof table> = machine(table);

export type BreakerState = StateOf<typeof breakerMachine>;

export interface BreakerPolicy {
  /** So many failures in a row open it. */
  readonly threshold: number;
  /** How long it stays open before one call may try. */
  readonly resetMs: number;
}

export interface Breaker {
  readonly state: BreakerState;
  /** In a row, while it is closed. */
  readonly failures: number;
  /** Since when it is open, or its probe is under way. */
  readonly sinceMs: number;
  /** Probes are numbered: only what the last one brings counts. */
  readonly probes: number;
}

export const CLOSED: Breaker = { state: "closed", failures: 0, sinceMs: 0, probes: 0 };

/** With what a call was let through; undefined where it was not. */
export type Pass = { readonly probe: number | undefined };

/** `unknown`: it was interrupted. `answered`: it failed in a way that says nothing against what was called. */
export type Verdict = "ok" | "answered" | "failed" | "unknown";

/** May a call be made now? */
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

/** What the outcome of a call that was let through makes of it. */
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
  // What was let through before it opened comes too late, and so does a probe that another one has followed.
  if (breaker.state === "open" || probe !== breaker.probes) return breaker;
  if (verdict === "failed") return moved(breaker, "trip", nowMs);
  // A probe that was interrupted has found out nothing: the next call may try at once.
  if (verdict === "unknown") return moved(breaker, "trip", nowMs - resetMs);
  return moved(breaker, "close", nowMs);
}

function moved(breaker: Breaker, event: EventOf<typeof breakerMachine>, nowMs: number): Breaker {
  const state = breakerMachine.target(breaker.state, event);
  if (state === undefined) throw new Error(`a breaker that is ${breaker.state} cannot ${event}`);
  return { ...breaker, state, failures: 0, sinceMs: nowMs };
}
