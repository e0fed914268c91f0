/** Sagas as lines of a list. */
import { claimCount } from "../../core/claim-token.ts";
import { decodePlan, type Plan } from "../../core/saga/plan.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Row } from "../../storage/database.ts";
import type { SagaLine } from "../contract.ts";
import { writeCursor } from "../http/cursor.ts";
import { stepLines } from "./graph.ts";
import { lastErrorOf, recoveriesOf, type RunLine } from "./run-lines.ts";

/** `log`: the saga's lines, where `needsLog` asked for them. */
export function toLine(row: Row, log: readonly RunLine[] | undefined): SagaLine {
  const [createdMs, updatedMs] = [Number(row["created_at"]), Number(row["updated_at"])];
  const status = row["status"] as SagaStatus;
  const plan = planOf(row);
  const archivedAt = typeof row["archived_at"] === "number" ? iso(row["archived_at"]) : null;
  return {
    id: row["id"] as string,
    saga: row["name"] as string,
    status,
    createdAt: iso(createdMs),
    updatedAt: iso(updatedMs),
    durationMs: Math.max(0, Math.round(updatedMs - createdMs)),
    recoveries: log ? recoveriesOf(plan, log) : 0,
    steps: log ? stepLines({ plan, status, timeline: log, error: failureIn(log) }) : ended(plan, status),
    lastError: (log && lastErrorOf(status, log)) ?? null,
    archivedAt,
  };
}

/** A step that failed for good: the rest of its group is waited for before the saga turns back. */
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

/** A saga that completed at its first claim needs no log: each step is done, unless it had a fallback. */
export function needsLog(row: Row): boolean {
  if (row["archived_at"] !== undefined && row["archived_at"] !== null) return false;
  return (
    row["status"] !== "COMPLETED" ||
    claimCount(Number(row["token"])) > 1 ||
    planOf(row).some(({ instead }) => instead !== undefined)
  );
}

/** A plan that was changed by hand must not keep the list from being shown. */
function planOf(row: Row): Plan {
  try {
    return row["plan"] === "" ? [] : decodePlan(row["plan"] as string);
  } catch {
    return [];
  }
}

/** The instant as the database has it: cut off to whole milliseconds, the next page would begin with this one's end. */
export function cursorOf(row: Row): string {
  return writeCursor({ atMs: Number(row["updated_at"]), id: row["id"] as string });
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
