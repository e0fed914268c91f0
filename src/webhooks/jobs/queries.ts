/** The job layer's statements: leases and their ends. It knows nothing of what a result means for a delivery. */
import { ACTIVE, jobMachine, type JobStatus } from "../../core/delivery/machine.ts";
import {
  insertClaimed,
  claimStatement,
  gate,
  holding,
  renewStatement,
  type Held,
  type InitialClaim,
  type Claimable,
} from "../../storage/claim.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";

/** Jobs in the order in which they became due. Those that lost a worker do not come first: their lease is their gate. */
export const JOBS: Claimable = {
  table: "webhook_jobs",
  id: "id",
  idType: "bigint",
  states: ACTIVE,
  classes: [sql`true`],
};

/** The job is in somebody's hands: what may be settled, renewed or given back. */
const HELD: Claimable = { ...JOBS, states: jobMachine.sources("complete") };

const RETURNED = raw("id, saga_id, event_id, subscription_id, attempt, attempts, token");

const LEASED = jobMachine.target("Pending", "lease") as JobStatus;

/** For a job that this process carries out as soon as it exists. */
export function insertLeased(dialect: Dialect, leaseMs: number, owner: string): InitialClaim {
  const more = { columns: raw("status, attempts, owner"), values: sql`${literals([LEASED])}, 1, ${owner}` };
  return insertClaimed(dialect, leaseMs, more, RETURNED);
}

/** What a paused subscription is owed waits, also where a job for it was made before. */
export function leaseJobs(
  dialect: Dialect,
  limit: number,
  leaseMs: number,
  owner: string,
  except: readonly string[] = [],
): Sql {
  return claimStatement(dialect, JOBS, {
    limit,
    leaseMs,
    except,
    where: sql`not exists (select 1 from ${dialect.table("webhook_paused")} as q
      where q.subscription_id = due.subscription_id)`,
    set: sql`status = ${literals([LEASED])}, attempts = c.attempts + 1, owner = ${owner}`,
    returning: RETURNED,
  });
}

export function anyJobDue(dialect: Dialect): Sql {
  return sql`exists (select 1 from ${dialect.table("webhook_jobs")} as j
    where j.status in (${literals(ACTIVE)}) and ${gate(dialect, sql`j.next_attempt_at`)} <= ${dialect.now()}
      and not exists (select 1 from ${dialect.table("webhook_paused")} as q where q.subscription_id = j.subscription_id))`;
}

export function renewJobs(dialect: Dialect, held: readonly Held[], leaseMs: number): Sql {
  return renewStatement(dialect, HELD, held, leaseMs, raw("id"));
}

const SETTLED: readonly Column[] = [
  { name: "row_id", type: "bigint" },
  { name: "row_token", type: "bigint" },
  { name: "to_status", type: "text" },
  { name: "new_report", type: "uuid" },
];

export type Settled = readonly [id: string, token: number, to: JobStatus, report: string];

export function settleJobs(dialect: Dialect, settled: readonly Settled[]): Sql {
  return sql`${ended(dialect, dialect.rows(SETTLED, settled))} returning report`;
}

const EXPECTED: readonly Column[] = [
  { name: "row_id", type: "bigint" },
  { name: "row_token", type: "bigint" },
  { name: "to_status", type: "text", default: jobMachine.target("Leased", "complete") as JobStatus },
  { name: "new_report", type: "uuid" },
  { name: "of_saga", type: "bigint" },
  { name: "of_attempt", type: "int" },
];

export type ExpectedJob = readonly [...Settled, deliveryId: string, attempt: number];

/** Only where each job is the one that its report takes it for, so that nobody has to look at the jobs again. */
export function settleOptimistic(dialect: Dialect, expected: readonly ExpectedJob[]): Sql {
  return sql`${ended(dialect, dialect.rows(EXPECTED, expected))}
    and c.saga_id = r.of_saga and c.attempt = r.of_attempt returning 1`;
}

function ended(dialect: Dialect, given: Sql): Sql {
  return sql`update ${dialect.table("webhook_jobs")} as c
    set status = r.to_status, report = r.new_report, next_attempt_at = null, owner = null, finished_at = ${dialect.now()}
    from ${given} where ${holding(HELD, raw("id"))}`;
}

/** Being shut down is no attempt: the lease that was given back does not count. */
export function releaseJob(dialect: Dialect, id: string, token: number): Sql {
  const pending = literals([jobMachine.target("Leased", "release") as JobStatus]);
  return sql`update ${dialect.table("webhook_jobs")} as c
    set status = ${pending}, attempts = c.attempts - 1, owner = null, next_attempt_at = ${dialect.now()}
    from ${dialect.rows(SETTLED.slice(0, 2), [[id, token]])} where ${holding(HELD, raw("id"))}`;
}
