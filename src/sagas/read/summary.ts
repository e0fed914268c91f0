/** A saga as a line of a list. */
import type { SagaStatus } from "../../core/saga/machine.ts";
import { decodePlan } from "../../core/saga/plan.ts";
import type { Row } from "../../storage/database.ts";

export interface SagaSummary {
  readonly id: string;
  readonly name: string;
  readonly status: SagaStatus;
  /** Step names in their order; none where the plan cannot be read. */
  readonly steps: readonly string[];
  readonly recoveryAttempts: number;
  readonly createdAtMs: number;
  /** As the database has it, with its fraction: lists are ordered by it. */
  readonly updatedAtMs: number;
  /** Undefined while the saga is where it ran. */
  readonly archivedAtMs: number | undefined;
}

export function toSummary(row: Row): SagaSummary {
  const archivedAt = row["archived_at"];
  return {
    id: row["id"] as string,
    name: row["name"] as string,
    status: row["status"] as SagaStatus,
    steps: stepsOf(row["plan"] as string),
    recoveryAttempts: Number(row["recovery_attempts"]),
    createdAtMs: Number(row["created_at"]),
    updatedAtMs: Number(row["updated_at"]),
    archivedAtMs: typeof archivedAt === "number" ? archivedAt : undefined,
  };
}

/** A plan that was changed by hand must not stop the list. */
function stepsOf(plan: string): readonly string[] {
  try {
    return plan === "" ? [] : decodePlan(plan).map(({ name }) => name);
  } catch {
    return [];
  }
}
