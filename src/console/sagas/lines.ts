/** Sagas as lines of a list. */
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Plan } from "../../core/saga/plan.ts";
import { lastErrorOf, recoveriesOf, type RunLine } from "../../sagas/read/run/lines.ts";
import { withLogs, type LoggedSaga } from "../../sagas/read/run/log.ts";
import type { SagaSummary } from "../../sagas/read/summary.ts";
import type { Reader } from "../../storage/read/reader.ts";
import type { SagaLine } from "../contract.ts";
import { stepLines } from "./graph.ts";

export async function toLines(reader: Reader, sagas: readonly SagaSummary[]): Promise<readonly SagaLine[]> {
  return (await withLogs(reader, sagas)).map(toLine);
}

function toLine(saga: LoggedSaga): SagaLine {
  const { id, name, status, plan, log, createdAtMs, updatedAtMs, archivedAtMs, runAtMs } = saga;
  return {
    id,
    saga: name,
    status,
    createdAt: iso(createdAtMs),
    updatedAt: iso(updatedAtMs),
    runAt: runAtMs === undefined ? null : iso(runAtMs),
    isScheduled: saga.isScheduled,
    isPaused: saga.isPaused,
    attributes: saga.attributes,
    durationMs: Math.max(0, Math.round(updatedAtMs - (runAtMs ?? createdAtMs))),
    recoveries: log ? recoveriesOf(plan, log) : 0,
    steps: log ? stepLines({ plan, status, timeline: log, error: failureIn(log) }) : ended(plan, status),
    lastError: (log && lastErrorOf(status, log)) ?? null,
    archivedAt: archivedAtMs === undefined ? null : iso(archivedAtMs),
  };
}

/** A step that failed permanently: the saga waits for the rest of its group before it turns back. */
function failureIn(log: readonly RunLine[]): RunLine | undefined {
  return log.find(
    ({ action, status, isRetried, fallback }) =>
      action === "act" && status === "FAILED" && isRetried === false && fallback === undefined,
  );
}

function ended(plan: Plan, status: SagaStatus): SagaLine["steps"] {
  const state = status === "COMPLETED" ? "done" : status === "PENDING" ? "none" : null;
  return plan.map(({ name }) => ({ name, state }));
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
