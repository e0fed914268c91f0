/** Stalled sagas, and those whose step behind the pivot keeps failing, each along the index that holds only them. */
import { CLAIMABLE, type SagaStatus } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { literals, raw, sql } from "../../storage/sql.ts";
import { executionColumns } from "../journal/queries.ts";

const STALLED: SagaStatus = "STALLED";

export function stalledRows(dialect: Dialect): Selection {
  return {
    from: sql`${dialect.table("saga_executions")} as c`,
    where: sql`c.status = ${literals([STALLED])}`,
    at: raw("c.updated_at"),
    id: raw("c.id"),
    columns: executionColumns(dialect, "c"),
  };
}

export function failingRows(dialect: Dialect): Selection {
  return { ...stalledRows(dialect), where: raw("c.failing_at is not null"), at: raw("c.failing_at") };
}

/** Sagas that the storage contract has excluded from claims, and that have not ended. */
export function excludedRows(dialect: Dialect): Selection {
  const where = sql`c.excluded_at is not null and c.status in (${literals(CLAIMABLE)})`;
  return { ...stalledRows(dialect), where, at: raw("c.excluded_at") };
}
