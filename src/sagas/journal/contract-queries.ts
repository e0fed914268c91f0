/** The statements by which the storage contract writes sagas. Its reads are those of the engine (queries.ts). */
import { CLAIMABLE, OPEN, type SagaStatus } from "../../core/saga/machine.ts";
import type { Plan } from "../../core/saga/plan.ts";
import { gate } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { kindOf } from "../kinds/kind-of.ts";

/** No registered saga has version 0: what was written through the storage contract is not the engine's to claim. */
const NO_DEFINITION = 0;
const NO_PLAN: Plan = [];

/** A saga as the storage contract writes it. */
export interface ContractSaga {
  readonly id: string;
  readonly name: string;
  readonly status: SagaStatus;
  /** JSON. */
  readonly context: string;
  readonly version: number;
  /** The version that was read; 0 for a saga that is new. */
  readonly base: number;
  readonly recoveryAttempts: number;
}

export function insertContractSaga(
  dialect: Dialect,
  { id, name, status, context, version, recoveryAttempts }: ContractSaga,
): Sql {
  return sql`insert into ${dialect.table("saga_executions")}
      (id, name, definition, kind, status, context, version, recovery_attempts, created_at, updated_at)
    values (${id}, ${name}, ${NO_DEFINITION}, ${kindOf(name, NO_DEFINITION, NO_PLAN)}, ${status}, ${context}, ${version}, ${recoveryAttempts}, ${dialect.now()}, ${dialect.now()})
    on conflict (id) do nothing returning id`;
}

/** Updates only the version that was read. */
export function updateContractSaga(
  dialect: Dialect,
  { id, base, status, context, version, recoveryAttempts }: ContractSaga,
): Sql {
  return sql`update ${dialect.table("saga_executions")}
    set status = ${status}, context = ${context}, version = ${version}, recovery_attempts = ${recoveryAttempts}, updated_at = ${dialect.now()}
    where id = ${id} and version = ${base} returning id`;
}

export interface RecoveryFilter {
  readonly limit: number;
  readonly maxRecoveryAttempts: number;
  readonly staleMs: number | undefined;
  readonly name: string | undefined;
}

/** What the storage contract lists for recovery. The gate leaves out what the engine holds or has put to sleep. */
export function selectForRecovery(
  dialect: Dialect,
  { limit, maxRecoveryAttempts, staleMs, name }: RecoveryFilter,
): Sql {
  const now = dialect.now();
  const isStale =
    staleMs === undefined ? empty : sql`and ${dialect.plusMs(raw("updated_at"), staleMs)} <= ${now}`;
  return sql`select id from ${dialect.table("saga_executions")}
    where status in (${literals(CLAIMABLE)}) and recovery_attempts < ${maxRecoveryAttempts}
      and ${gate(dialect, raw("next_attempt_at"))} <= ${now} ${isStale}
      ${name === undefined ? empty : sql`and name = ${name}`}
    order by recovery_attempts, updated_at, id limit ${limit}`;
}

/** From this many recovery attempts on, a saga of the engine is in no claim, as the contract's recovery leaves it out by default. */
export const EXCLUDED_FROM = 5;

/** Sets the recovery attempts of a saga that the engine runs. Its status, its log and its version stay. */
export function setRecoveries(dialect: Dialect, id: string, attempts: number): Sql {
  const excluded = attempts >= EXCLUDED_FROM ? sql`coalesce(excluded_at, ${dialect.now()})` : sql`null`;
  return sql`update ${dialect.table("saga_executions")} set recovery_attempts = ${attempts}, excluded_at = ${excluded}
    where id = ${id} and status in (${literals(OPEN)})`;
}
