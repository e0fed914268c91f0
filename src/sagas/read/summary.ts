/** A saga as a line of a list. */
import type { SagaStatus } from "../../core/saga/machine.ts";
import { decodePlan } from "../../core/saga/plan.ts";
import { instant, int, optional, text } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import { projection, table, type RowOf } from "../../storage/table.ts";

/** The columns that a list shows, of the table of sagas and of the archive alike. */
export const LINE = table("saga_executions", {
  id: text("id"),
  name: text("name"),
  status: text<SagaStatus>("status"),
  plan: text("plan"),
  recoveryAttempts: int("recovery_attempts"),
  createdAtMs: instant("created_at"),
  /** As the database has it, with its fraction: lists are ordered by it. */
  updatedAtMs: instant("updated_at"),
});

/** Undefined while the saga is where it ran. */
const LISTED = projection({ ...LINE.shape, archivedAtMs: optional(instant("archived_at")) });

export interface SagaSummary extends Omit<RowOf<typeof LISTED>, "plan"> {
  /** Step names in their order; none where the plan cannot be read. */
  readonly steps: readonly string[];
}

export function toSummary(row: Row): SagaSummary {
  const { plan, ...saga } = LISTED.read(row);
  return { ...saga, steps: stepsOf(plan) };
}

/** A plan that was changed by hand must not stop the list. */
function stepsOf(plan: string): readonly string[] {
  try {
    return plan === "" ? [] : decodePlan(plan).map(({ name }) => name);
  } catch {
    return [];
  }
}
