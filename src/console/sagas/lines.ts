/** Sagas as lines of a list. */
import type { SagaSummary } from "../../sagas/read/summary.ts";
import type { SagaLine } from "../contract.ts";

export function toLine(saga: SagaSummary): SagaLine {
  const { id, name, status, steps, recoveryAttempts, createdAtMs, updatedAtMs, archivedAtMs } = saga;
  return {
    id,
    saga: name,
    status,
    createdAt: iso(createdAtMs),
    updatedAt: iso(updatedAtMs),
    durationMs: Math.max(0, Math.round(updatedAtMs - createdAtMs)),
    recoveryAttempts,
    steps,
    archivedAt: archivedAtMs === undefined ? null : iso(archivedAtMs),
  };
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
