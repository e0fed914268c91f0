/**
 * The job layer: jobs and their leases. A job whose worker vanished is leased again; one that lost its worker too often
 * gets a synthetic failed result, so that its delivery goes on. A job is settled once, under its token, by one report.
 */
import type { JobResult } from "../../core/delivery/decide.ts";
import { decodeResult, type LeasedJob, type Report } from "../../core/delivery/job.ts";
import { renewalLimitMs } from "../../storage/claim.ts";
import type { Database, Row, Session } from "../../storage/database.ts";
import {
  createJobs,
  ENDED_JOB,
  isCompleted,
  JOB,
  leaseJobs,
  releaseJob,
  renewJobs,
  selectResults,
  type HeldJob,
  type LeaseTerms,
  type MovedDeliveries,
} from "./job-queries.ts";

export interface JobsOptions extends LeaseTerms {
  /** How often a job may be leased before it counts as failed. */
  readonly leaseMax: number;
}

type Ask = Pick<Session, "dialect" | "query">;

export class Jobs {
  readonly #options: JobsOptions;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /** A job for each of these deliveries, leased here from the start: this process sends it as soon as it exists. */
  async createLeased(session: Ask, moved: MovedDeliveries): Promise<readonly LeasedJob[]> {
    return inOrder(await inTurn(session, createJobs(session.dialect, moved, this.#options)));
  }

  /** A job for each of these deliveries, due for any sender. */
  async create(session: Ask, moved: MovedDeliveries): Promise<readonly LeasedJob[]> {
    return inOrder(await inTurn(session, createJobs(session.dialect, moved)));
  }

  async lease(session: Ask, limit: number, except: readonly string[] = []): Promise<readonly LeasedJob[]> {
    return inOrder(await session.query(leaseJobs(session.dialect, limit, this.#options, except)));
  }

  /** The ids of those that are still held. */
  async renew(
    db: Pick<Database, "dialect" | "query">,
    jobs: readonly HeldJob[],
  ): Promise<ReadonlySet<string>> {
    const { leaseMs } = this.#options;
    const rows = await db.query(renewJobs(db.dialect, jobs, leaseMs), renewalLimitMs(leaseMs));
    return new Set(rows.map((row) => String(row["id"])));
  }

  async release(session: Ask, job: HeldJob): Promise<void> {
    await session.query(releaseJob(session.dialect, job));
  }

  /** A job that lost too many workers is not sent again: the worker that leases it reports a failed result. */
  syntheticResult({ leases }: LeasedJob): JobResult | undefined {
    return leases > this.#options.leaseMax ? { ok: false, code: "lease_expired" } : undefined;
  }

  /** Results that senders have left on their jobs and that were not applied yet, locked until the transaction ends. */
  async results(session: Ask, attemptMax: number, limit: number): Promise<readonly Report[]> {
    return (await session.query(selectResults(session.dialect, attemptMax, limit))).map(toReport);
  }
}

async function inTurn(
  session: Ask,
  statements: readonly Parameters<Ask["query"]>[0][],
): Promise<readonly Row[]> {
  let rows: readonly Row[] = [];
  for (const statement of statements) rows = await session.query(statement);
  return rows;
}

function inOrder(rows: readonly Row[]): readonly LeasedJob[] {
  return rows.map((row) => JOB.read(row)).toSorted((a, b) => Number(a.id) - Number(b.id));
}

function toReport(row: Row): Report {
  const { report, attemptMax, status, result, ...job } = ENDED_JOB.read(row);
  return { report, job, attemptMax, ...decodeResult(result, isCompleted(status)) };
}
