/**
 * Jobs and their leases. A job whose worker vanished is leased again; one that lost its worker too often gets a synthetic
 * failed result, so that its delivery goes on. A job is settled once, under its token, by one report.
 */
import { LEASE_EXPIRED, type JobReport, type LeasedJob } from "../../core/delivery/job.ts";
import type { JobResult } from "../../core/delivery/decide.ts";
import { jobMachine, type JobStatus } from "../../core/delivery/machine.ts";
import { renewalLimitMs, type InitialClaim } from "../../storage/claim.ts";
import type { Database, Dialect, Row, Session } from "../../storage/database.ts";
import type { Stage } from "../../storage/stages.ts";
import { insertLeased, leaseJobs, releaseJob, renewJobs, settleOptimistic, settleJobs } from "./queries.ts";
import type { Settled } from "./queries.ts";
import { toLeasedJob } from "./rows.ts";

export interface JobLayerOptions {
  readonly leaseMs: number;
  /** How often a job may be leased before it is given up. */
  readonly leaseMax: number;
  readonly owner: string;
}

type Held = Pick<LeasedJob, "id" | "token">;
type Ask = Pick<Session, "dialect" | "query">;

export class JobLayer {
  readonly #options: JobLayerOptions;

  constructor(options: JobLayerOptions) {
    this.#options = options;
  }

  async lease(session: Ask, limit: number, except: readonly string[] = []): Promise<readonly LeasedJob[]> {
    const { leaseMs, owner } = this.#options;
    return this.taken(await session.query(leaseJobs(session.dialect, limit, leaseMs, owner, except)));
  }

  /** The lease that new jobs are written with where this process carries them out at once. */
  initialClaim(dialect: Dialect): InitialClaim {
    return insertLeased(dialect, this.#options.leaseMs, this.#options.owner);
  }

  /** Jobs whose lease is ours, as the database returned them. */
  taken(rows: readonly Row[]): readonly LeasedJob[] {
    return rows.map(toLeasedJob).toSorted((a, b) => Number(a.id) - Number(b.id));
  }

  /** The ids of those that are still held. */
  async renew(db: Pick<Database, "dialect" | "query">, jobs: readonly Held[]): Promise<ReadonlySet<string>> {
    const { leaseMs } = this.#options;
    const rows = await db.query(renewJobs(db.dialect, jobs, leaseMs), renewalLimitMs(leaseMs));
    return new Set(rows.map((row) => String(row["id"])));
  }

  /** Whoever leases a job that others were lost with does not call again: it tells the result that they never told. */
  syntheticResult({ leases }: LeasedJob): JobResult | undefined {
    return leases > this.#options.leaseMax ? { ok: false, code: LEASE_EXPIRED } : undefined;
  }

  /** Ends the jobs that these reports are about. Answers with the reports that did so now. */
  async settle(session: Session, reports: readonly JobReport[]): Promise<ReadonlySet<string>> {
    const settled = reports.toSorted(byJob).map(settledBy);
    const rows = await session.query(settleJobs(session.dialect, settled));
    return new Set(rows.map((row) => row["report"] as string));
  }

  /** The same as a stage that refuses everything unless each report ends its job now. */
  settleOptimistic(dialect: Dialect, reports: readonly JobReport[]): Stage {
    const expected = reports
      .toSorted(byJob)
      .map((one) => [...settledBy(one), one.job.deliveryId, one.job.attempt] as const);
    const statement = settleOptimistic(dialect, expected);
    return { name: "settled", statement, expectRows: expected.length, otherwise: "refuse" };
  }

  async release(session: Ask, { id, token }: Held): Promise<void> {
    await session.query(releaseJob(session.dialect, id, token));
  }
}

/** Rows are locked in this order by everybody. */
function byJob(a: JobReport, b: JobReport): number {
  return Number(a.job.id) - Number(b.job.id);
}

function settledBy({ job, report, result }: JobReport): Settled {
  return [job.id, job.token, statusAfter(result), report];
}

function statusAfter({ ok }: JobResult): JobStatus {
  return jobMachine.target("Leased", ok ? "complete" : "fail") as JobStatus;
}
