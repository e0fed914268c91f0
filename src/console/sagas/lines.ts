/** Sagas as lines of a list. */
import { decodePlan } from "../../core/saga/plan.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Row } from "../../storage/database.ts";
import type { SagaLine } from "../contract.ts";
import { writeCursor } from "../http/cursor.ts";

export function toLine(row: Row): SagaLine {
  const [createdMs, updatedMs] = [Number(row["created_at"]), Number(row["updated_at"])];
  return {
    id: row["id"] as string,
    saga: row["name"] as string,
    status: row["status"] as SagaStatus,
    createdAt: iso(createdMs),
    updatedAt: iso(updatedMs),
    durationMs: Math.max(0, Math.round(updatedMs - createdMs)),
    recoveryAttempts: Number(row["recovery_attempts"]),
    steps: stepsOf(row["plan"] as string),
    archivedAt: typeof row["archived_at"] === "number" ? iso(row["archived_at"]) : null,
  };
}

/** A plan that was changed by hand must not keep the list from being shown. */
function stepsOf(plan: string): readonly string[] {
  try {
    return plan === "" ? [] : decodePlan(plan).map(({ name }) => name);
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
