/**
 * What an outcome brings on goes on where it came about: places are kept at the desk before the outcome is written, the
 * rows are written as claimed, and begin once they are durable, with the run as it stands then.
 */
import { BEGUN } from "../core/flow/state.ts";
import type { Clock } from "../storage/clock.ts";
import type { Desk, Hold } from "../work/desk.ts";
import type { Delivery, NewRow, RunRecord, Settlement } from "./delivery.ts";
import type { SagaRegistry } from "./registry.ts";
import type { Settled } from "./settle.ts";

/** Exactly one of the two is called. */
export interface Continuation {
  /** The rows that are to be written as claimed. */
  readonly claims: ReadonlySet<string>;
  accept(answer: Settled): void;
  cancel(): void;
}

interface Where {
  readonly desk: Desk<Delivery>;
  readonly registry: SagaRegistry;
}

export function continuation(
  { desk, registry }: Where,
  clock: Clock,
  settlement: Settlement,
  from: Hold | undefined,
): Continuation {
  const mine = settlement.out.rows.filter(({ handler }) => handler && registry.handler(handler));
  const places = mine.length > 0 ? desk.reserve(mine.length, from) : undefined;
  return {
    claims: new Set(places ? mine.map(({ id }) => id) : []),
    cancel: () => places?.cancel(),
    accept: ({ applied, claimed, more }) => {
      const next = mine.flatMap((row) => {
        const timeMs = claimed.get(row.id);
        return timeMs === undefined ? [] : [claimedRow(clock, row, settlement, timeMs)];
      });
      if (next.length > 0) places?.fill(next);
      else places?.cancel();
      if (more || (applied && mine.length > claimed.size)) desk.dueIn(0);
    },
  };
}

function claimedRow(clock: Clock, row: NewRow, settlement: Settlement, timeMs: number): Delivery {
  const { out, move, trace } = settlement;
  const begun = row.opens ? out.runs.find(({ sagaId }) => sagaId === row.sagaId) : undefined;
  const later = (ms: number | undefined): number | undefined =>
    ms === undefined ? undefined : clock.monotonicMs() + ms;
  let run: RunRecord | undefined;
  if (begun) {
    const { sagaId, sagaType, processId, stepMs } = begun;
    const deadlineAtMs = later(begun.deadlineMs);
    const dueAtMs = earlier(deadlineAtMs, later(stepMs));
    run = { sagaId, sagaType, processId, version: 1, state: BEGUN, deadlineAtMs, dueAtMs };
  } else if (move && move.run.sagaId === row.sagaId) {
    const isWatched = move.state.status === "running";
    const stepMs = move.stepMs === "rest" ? undefined : move.stepMs;
    const dueAtMs = isWatched ? earlier(move.run.deadlineAtMs, later(stepMs)) : undefined;
    run = { ...move.run, version: move.run.version + 1, state: move.state, dueAtMs };
  }
  return { ...row, token: 1, attempts: 1, timeMs, run, trace };
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
