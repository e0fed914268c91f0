/**
 * Every statement on `webhook_jobs`: creation, lease, renewal, release, end. No other file names the table, so this is the
 * only place that writes the columns of a lease. It knows nothing of what a result means for a delivery.
 */
import type { JobResult } from "../../core/delivery/decide.ts";
import { encodeResult, type JobReport, type LeasedJob, type Report } from "../../core/delivery/job.ts";
import { ACTIVE, jobMachine, type JobStatus } from "../../core/delivery/machine.ts";
import { nextDueIn } from "../../storage/read/next-due.ts";
import {
  claimStatement,
  firstToken,
  gate,
  holding,
  renewStatement,
  type Claimable,
} from "../../storage/claim.ts";
import { bigint, id, int, text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, table, type Projection, type Table } from "../../storage/table.ts";

/** A job as the claim that holds it returns it. */
export const JOB: Table<LeasedJob> = table("webhook_jobs", {
  id: id("id"),
  token: bigint("token"),
  deliveryId: id("saga_id"),
  eventId: id("event_id"),
  subscriptionId: id("subscription_id"),
  attempt: int("attempt"),
  leases: int("attempts"),
});

/** Jobs in the order in which they became due. Those that lost a worker do not come first: their lease is their gate. */
const JOBS: Claimable = {
  table: JOB.name,
  id: "id",
  idType: "bigint",
  states: ACTIVE,
  classes: [{ where: sql`true` }],
};

/** Jobs that a worker holds: only these may be settled, renewed or given back. */
const HELD: Claimable = { ...JOBS, states: jobMachine.sources("complete") };

const LEASED = jobMachine.target("Pending", "lease") as JobStatus;
const RELEASED = jobMachine.target("Leased", "release") as JobStatus;
const COMPLETED = jobMachine.target("Leased", "complete") as JobStatus;
const FAILED = jobMachine.target("Leased", "fail") as JobStatus;

/** Who leases, and for how long. */
export interface LeaseTerms {
  readonly owner: string;
  readonly leaseMs: number;
}

/** Deliveries that get a job: the update that moves them, and the moved rows as a relation `s` for SQLite. */
export interface MovedDeliveries {
  readonly update: Sql;
  readonly rows: Sql;
}

/**
 * Moves deliveries and makes a job for each that was moved: one statement where the database can. With terms, the jobs
 * are leased from the start, by the process that creates them; without, they are due for any sender. A second active job
 * of a delivery is refused by its key.
 */
export function createJobs(dialect: Dialect, moved: MovedDeliveries, terms?: LeaseTerms): readonly Sql[] {
  const now = dialect.now();
  const lease = terms && {
    columns: raw(", status, attempts, owner, token, last_attempt_at"),
    values: sql`, ${literals([LEASED])}, 1, ${terms.owner}, ${firstToken()}, ${now}`,
  };
  const dueAt = terms ? dialect.plusMs(now, terms.leaseMs) : now;
  const insert = sql`insert into ${JOB.of(dialect)}
      (saga_id, event_id, subscription_id, attempt, created_at, next_attempt_at${lease?.columns ?? empty})
    select s.id, s.event_id, s.subscription_id, s.attempt_count + 1, ${now}, ${dueAt}${lease?.values ?? empty}`;
  // An orchestrator that may only insert these columns may read no others.
  const returning = lease ? sql`returning ${JOB.columns(dialect)}` : empty;
  return dialect.pick({
    postgres: [
      sql`with moved as (${moved.update} returning c.id, c.event_id, c.subscription_id, c.attempt_count)
      ${insert} from moved as s ${returning}`,
    ],
    sqlite: [moved.update, sql`${insert} from ${moved.rows} ${returning}`],
  });
}

/** Nothing is sent to a subscription that is paused or about to be disabled, also if a job for it was made before. */
const mayBeSent = (dialect: Dialect, subscriptionId: Sql): Sql =>
  sql`not exists (select 1 from ${dialect.table("webhook_paused")} as q where q.subscription_id = ${subscriptionId})`;

export function leaseJobs(
  dialect: Dialect,
  limit: number,
  { owner, leaseMs }: LeaseTerms,
  except: readonly string[] = [],
): Sql {
  return claimStatement(dialect, JOBS, {
    limit,
    leaseMs,
    except,
    where: mayBeSent(dialect, raw("due.subscription_id")),
    set: sql`status = ${literals([LEASED])}, attempts = c.attempts + 1, owner = ${owner}`,
    returning: JOB.columns(dialect),
  });
}

/** A condition: there is a job that may be leased now. */
export function anyJobDue(dialect: Dialect): Sql {
  return sql`exists (select 1 from ${JOB.of(dialect)} as j
    where j.status in (${literals(ACTIVE)}) and ${gate(dialect, sql`j.next_attempt_at`)} <= ${dialect.now()}
      and ${mayBeSent(dialect, raw("j.subscription_id"))})`;
}

/** When the first job may be leased; null if there is none. */
export function firstJobGate(dialect: Dialect): Sql {
  const gated = gate(dialect, raw("j.next_attempt_at"));
  return sql`(select ${gated} from ${JOB.of(dialect)} as j
    where j.status in (${literals(ACTIVE)}) and ${mayBeSent(dialect, raw("j.subscription_id"))} order by ${gated}, j.id limit 1)`;
}

/** Since when the job has been due that has been due the longest. */
export function oldestDueJob(dialect: Dialect): Sql {
  const dueAt = gate(dialect, raw("j.next_attempt_at"));
  return sql`select coalesce(j.next_attempt_at, j.created_at) as since from ${JOB.of(dialect)} as j
    where j.status in (${literals(ACTIVE)}) and ${dueAt} <= ${dialect.now()} order by ${dueAt}, j.id limit 1`;
}

export type HeldJob = Pick<LeasedJob, "id" | "token">;

export function renewJobs(dialect: Dialect, held: readonly HeldJob[], leaseMs: number): Sql {
  return renewStatement(dialect, HELD, held, leaseMs, raw("id"));
}

const HELD_JOB = fields<HeldJob>({
  row_id: bigint((job) => job.id),
  row_token: bigint((job) => job.token),
});

/** A shutdown is no attempt: the lease that is given back does not count. */
export function releaseJob(dialect: Dialect, job: HeldJob): Sql {
  return sql`update ${JOB.of(dialect)} as c
    set status = ${literals([RELEASED])}, attempts = c.attempts - 1, owner = null, next_attempt_at = ${dialect.now()}
    from ${dialect.rows(HELD_JOB, [job])} where ${holding(HELD, raw("id"))}`;
}

const END = fields<JobReport>({
  row_id: bigint(({ job }) => job.id),
  row_token: bigint(({ job }) => job.token),
  to_status: text(({ result }) => statusAfter(result), { default: COMPLETED }),
  new_report: uuid(({ report }) => report),
});

const END_WITH_RESULT = fields<JobReport>({ ...END.shape, new_result: text(encodeResult) });

function statusAfter({ ok }: JobResult): JobStatus {
  return ok ? COMPLETED : FAILED;
}

/**
 * Ends the jobs that these reports are about, each under its own token. With `keepsResult` the job keeps its result until
 * the orchestrator has applied it; without, the caller applies it in the same transaction.
 */
export function settleJobs(dialect: Dialect, reports: readonly JobReport[], keepsResult: boolean): Sql {
  return sql`update ${JOB.of(dialect)} as c
    set status = r.to_status, report = r.new_report, next_attempt_at = null, owner = null,
      finished_at = ${dialect.now()}${keepsResult ? sql`, result = r.new_result` : empty}
    from ${dialect.rows(keepsResult ? END_WITH_RESULT : END, reports)} where ${holding(HELD, raw("id"))}
    returning report`;
}

export const SETTLED: Projection<Pick<Report, "report">> = projection({ report: text("report") });

/** A job that has ended and whose result was not applied yet. */
export interface EndedJob extends Pick<LeasedJob, "id" | "deliveryId" | "subscriptionId" | "attempt"> {
  readonly attemptMax: number;
  readonly status: JobStatus;
  readonly report: string;
  readonly result: string;
}

export const ENDED_JOB: Projection<EndedJob> = projection({
  id: id("id"),
  deliveryId: id("saga_id"),
  subscriptionId: id("subscription_id"),
  attempt: int("attempt"),
  attemptMax: int("attempt_max"),
  status: text<JobStatus>("status"),
  report: text("report"),
  result: text("result"),
});

/** A condition: there is a result that was not applied yet. */
export function anyResult(dialect: Dialect): Sql {
  return sql`exists (select 1 from ${JOB.of(dialect)} as j where j.result is not null)`;
}

/**
 * Ended jobs whose results were not applied yet, oldest first, locked. The limit is the one that the job was made
 * under.
 */
export function selectResults(dialect: Dialect, attemptMax: number, limit: number): Sql {
  return sql`select j.id, j.saga_id, j.subscription_id, j.attempt, j.status, j.report, j.result,
      coalesce((select s.attempt_max from ${dialect.table("webhook_delivery_sagas")} as s where s.id = j.saga_id),
        cast(${attemptMax} as integer)) as attempt_max
    from ${JOB.of(dialect)} as j where j.result is not null
    order by j.id limit ${limit} ${dialect.forUpdateOf("j", "skip locked")}`;
}

export function isCompleted(status: JobStatus): boolean {
  return status === COMPLETED;
}

const ENDED = fields<Report>({ row_id: bigint(({ job }) => job.id) });

/** The results of these jobs were applied. */
export function clearResults(dialect: Dialect, reports: readonly Report[]): Sql {
  return sql`update ${JOB.of(dialect)} as c set result = null
    from ${dialect.rows(ENDED, reports)} where c.id = r.row_id and c.result is not null`;
}

/** The job that each report `r` has ended, as `j`: what it was for. A report that has ended none has no row. */
export function joinEnded(dialect: Dialect): Sql {
  return sql`join (select id as of_job, report as of_report, saga_id as of_saga, subscription_id as of_lane, attempt as of_attempt
      from ${JOB.of(dialect)}) as j on j.of_job = r.job_id and j.of_report = r.report`;
}

/** The job that each report `r` names, as `j`, with what it is now; null columns where there is none. */
export function joinNamed(dialect: Dialect): Sql {
  return sql`left join (select id, saga_id, report, token from ${JOB.of(dialect)}) as j on j.id = r.job_id`;
}

/** How many jobs of a lane are active. */
export function activeIn(dialect: Dialect, lane: Sql): Sql {
  return sql`(select count(*) from ${JOB.of(dialect)} as j where j.subscription_id = ${lane} and j.finished_at is null)`;
}

/**
 * A condition: the delivery has no active job. Counted, and not asked with `exists`, which a planner may turn into a join
 * with all active jobs; the empty text keeps it from an index that holds all active jobs in another order.
 */
export function hasNoActive(dialect: Dialect, delivery: Sql): Sql {
  return sql`(select count(*) from ${JOB.of(dialect)} as j
    where j.saga_id = ${delivery} and j.status || '' in (${literals(ACTIVE)})) = 0`;
}

export function deleteJobs(dialect: Dialect, deliveryIds: readonly string[]): Sql {
  return sql`delete from ${JOB.of(dialect)} where ${dialect.among(raw("saga_id"), deliveryIds, "bigint")}`;
}

/** When the lease of the next active job ends. */
export function nextJobDue(dialect: Dialect): Sql {
  const isActive = sql`c.status in (${literals(ACTIVE)})`;
  return nextDueIn(dialect, dialect.table("webhook_jobs"), "next_attempt_at", isActive);
}
