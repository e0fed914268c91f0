/** A saga as a line of a list. */
import { claimCount } from "../../core/claim-token.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import { decodePlan, type Plan } from "../../core/saga/plan.ts";
import { bigint, instant, optional, text } from "../../storage/column.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import { projection, table } from "../../storage/table.ts";

export interface SagaSummary {
  readonly id: string;
  readonly name: string;
  readonly status: SagaStatus;
  /** Empty where it cannot be read. */
  readonly plan: Plan;
  readonly createdAtMs: number;
  /** As the database has it, with its fraction: lists are ordered by it. */
  readonly updatedAtMs: number;
  /** Undefined while the saga is where it ran. */
  readonly archivedAtMs: number | undefined;
  /** How often it was claimed; undefined in the archive. */
  readonly claims: number | undefined;
}

const SHARED = {
  id: text("id"),
  name: text("name"),
  status: text<SagaStatus>("status"),
  plan: text("plan"),
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
};

const LINE = table("saga_executions", { ...SHARED, token: bigint("token") });
const ARCHIVED = table("saga_archive", { ...SHARED, archivedAtMs: instant("archived_at") });
const LISTED = projection({
  ...SHARED,
  token: optional(bigint("token")),
  archivedAtMs: optional(instant("archived_at")),
});

export const LINE_NAMES: readonly string[] = Object.values(LINE.shape).map(({ name }) => name);

export function lineColumns(dialect: Dialect, alias: string): Sql {
  return LINE.columns(dialect, alias);
}

export function archivedColumns(dialect: Dialect, alias: string): Sql {
  return ARCHIVED.columns(dialect, alias);
}

export function toSummary(row: Row): SagaSummary {
  const { plan, token, ...saga } = LISTED.read(row);
  return { ...saga, plan: planOf(plan), claims: token === undefined ? undefined : claimCount(token) };
}

/** A plan that was changed by hand must not stop the list. */
function planOf(plan: string): Plan {
  try {
    return decodePlan(plan);
  } catch {
    return [];
  }
}
