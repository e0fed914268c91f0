/** The statements on sagas that are not hot: claims, reads, renewals. The hot ones are in flush.ts. */
import { BEGUN, CLAIMABLE, RECORDED, STALLED, sagaMachine } from "../../core/saga/machine.ts";
import { encodePlan, UNRECORDED_PLAN, type Plan } from "../../core/saga/plan.ts";
import type { Grant } from "../../core/start/grants.ts";
import { claimStatement, renewStatement, type Claimable, type TakenAlong } from "../../storage/claim.ts";
import { int, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { laneWithoutRate } from "../../storage/limits/lane.ts";
import { hasPlace, type LimitedTable } from "../../storage/limits/queries.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { KnownKind, RenewedClaim } from "./journal.ts";
import { kindOf } from "../kinds/kind-of.ts";
import { isPausedKind } from "../kinds/queries.ts";
import { EXECUTION, LINE } from "./rows.ts";

/** Sagas that never lost a worker come first: one that kills its worker must not take the healthy ones along. */
export const SAGAS: Claimable = {
  table: "saga_executions",
  id: "id",
  states: CLAIMABLE,
  classes: [{ where: sql`due.recovery_attempts = 0` }, { where: sql`due.recovery_attempts > 0` }],
  rank: sql`due.recovery_attempts`,
  hasPriorities: true,
};

/** The columns of a saga's row, and the time of the database. */
export function executionColumns(dialect: Dialect, alias?: string): Sql {
  return sql`${EXECUTION.columns(dialect, alias)}, ${dialect.epochMs(dialect.now())} as now_at`;
}

/** Sagas with limits by key. What runs is counted by the leases of sagas, turned back or not. */
export const LIMITED_SAGAS: LimitedTable = {
  queue: "sagas",
  claimable: SAGAS,
  lane: "kind",
  order: (alias) => raw(`${alias}.kind, ${alias}.recovery_attempts`),
  isOpen: (alias) => sql`${raw(alias)}.status in (${literals(CLAIMABLE)})`,
  isHeld: (alias) => raw(`${alias}.owner is not null`),
  where: raw("due.excluded_at is null"),
};

/** A claim of a saga whose owner did not give it back is a recovery, and is counted as one. */
export function claimSagas(
  dialect: Dialect,
  /** As the column `kind` has them, the one that is served first in front. */
  kinds: readonly string[],
  limit: number,
  owner: string,
  leaseMs: number,
  except: readonly string[] = [],
  grants: readonly Grant[] = [],
): Sql {
  const column = raw("due.kind");
  const lanes = { column, names: kinds, isPaused: isPausedKind(dialect) };
  const classes = SAGAS.classes.map((rowClass) => ({ ...rowClass, lanes }));
  return claimStatement(
    dialect,
    { ...SAGAS, classes },
    {
      limit,
      leaseMs,
      except,
      granted: { column, grants },
      where: LIMITED_SAGAS.where,
      set: sql`${grants.length === 0 ? empty : sql`kind = ${laneWithoutRate(dialect, raw("c.kind"))},`} status = case when c.status = ${literals([RECORDED])} then ${literals([BEGUN])} else c.status end,
      recovery_attempts = c.recovery_attempts + case when c.owner is null then 0 else 1 end,
      owner = ${owner}, updated_at = ${dialect.now()}`,
      returning: sql`${executionColumns(dialect)}, kind`,
    },
  );
}

/** The plan of sagas that a reference started, as the definition of the worker that claimed them first has it. */
export function recordPlans(dialect: Dialect, sagas: readonly PlannedSaga[]): Sql {
  const deadline = dialect.plusMs(raw("coalesce(c.run_at, c.created_at)"), raw("r.deadline_ms"));
  return sql`update ${dialect.table("saga_executions")} as c
    set plan = r.plan, kind = r.kind || substr(c.kind, length(r.before) + 1), deadline_at = coalesce(c.deadline_at, case when r.deadline_ms is null then null else ${deadline} end)
    from ${dialect.rows(PLANNED, sagas)} where c.id = r.id and c.plan = ${UNRECORDED_PLAN}`;
}

interface PlannedSaga extends Pick<KnownKind, "name" | "version" | "plan" | "deadlineMs"> {
  readonly id: string;
}

const UNKNOWN_STEPS: Plan = [];

/** What the kind says besides, of the saga's limits, stays. */
const PLANNED = fields<PlannedSaga>({
  id: text(({ id }) => id),
  plan: text(({ plan }) => encodePlan(plan)),
  kind: text(({ name, version, plan }) => kindOf(name, version, plan)),
  before: text(({ name, version }) => kindOf(name, version, UNKNOWN_STEPS)),
  deadline_ms: text(({ deadlineMs }) => (deadlineMs === undefined ? undefined : String(deadlineMs))),
});

const REPORTED = fields<RenewedClaim>({
  known_version: int(({ reported }) => reported?.version),
  progress: text(({ reported }) => reported?.text),
});

/** A row of a later version was changed since by a checkpoint, which knew the progress better, or by a person. */
const PROGRESS: TakenAlong<RenewedClaim> = {
  values: REPORTED,
  set: raw(
    "progress = case when r.progress is null or c.version > r.known_version then c.progress else r.progress end",
  ),
};

/**
 * One that was given back has no owner: a renewal that was under way then must not close its gate again. A lease that gave a place
 * is not renewed once it has ended: another saga may have the place.
 */
export function renewSagas(dialect: Dialect, holds: readonly RenewedClaim[], leaseMs: number): Sql {
  const along = holds.some(({ reported }) => reported) ? PROGRESS : undefined;
  const isHeld = sql`c.owner is not null and ${hasPlace(dialect)}`;
  return renewStatement(dialect, SAGAS, holds, leaseMs, raw("id, version"), isHeld, along);
}

export function selectSaga(dialect: Dialect, id: string, lock: boolean): Sql {
  return sql`select ${executionColumns(dialect, "c")} from ${dialect.table("saga_executions")} as c
    where c.id = ${id} ${lock ? dialect.forUpdateOf("c") : empty}`;
}

export function selectSagas(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select ${executionColumns(dialect, "c")} from ${dialect.table("saga_executions")} as c
    where ${dialect.among(raw("c.id"), ids)}`;
}

export function selectLogs(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select ${LINE.columns(dialect)} from ${dialect.table("saga_logs")}
    where ${dialect.among(raw("saga_id"), ids)} order by saga_id, id`;
}

/**
 * Sagas whose plan or log cannot be read, or whose log has lines of another saga: nothing can be decided about them but
 * that a person must look.
 */
export function stallDamaged(
  dialect: Dialect,
  kind: "unreadable" | "foreign-lines",
  ids: readonly string[],
): Sql {
  return sql`update ${dialect.table("saga_executions")}
    set status = ${literals([STALLED])}, owner = null, next_attempt_at = null, error = ${JSON.stringify({ stall: { kind } })}, error_label = ${kind}, updated_at = ${dialect.now()}
    where ${dialect.among(raw("id"), ids)} and status in (${literals(sagaMachine.sources("stall"))})`;
}
