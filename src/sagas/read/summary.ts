/** A saga as a line of a list. */
import type { SagaStatus } from "../../core/saga/machine.ts";
import { decodePlan } from "../../core/saga/plan.ts";
import { instant, int, optional, text } from "../../storage/column.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import { projection, table } from "../../storage/table.ts";

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

/** The columns that a list shows, of the table of sagas and of the archive alike. */
const LINE = table("saga_executions", {
  id: text("id"),
  name: text("name"),
  status: text<SagaStatus>("status"),
  plan: text("plan"),
  recoveryAttempts: int("recovery_attempts"),
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
});

const LISTED = projection({ ...LINE.shape, archivedAtMs: optional(instant("archived_at")) });

export const LINE_NAMES: readonly string[] = Object.values(LINE.shape).map(({ name }) => name);

export function lineColumns(dialect: Dialect, alias: string): Sql {
  return LINE.columns(dialect, alias);
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
