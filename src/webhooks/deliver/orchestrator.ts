/**
 * The only code that changes the state of a delivery. It sends nothing, writes no lease, reads no payload, and changes
 * neither events nor subscriptions. Everything happens in the caller's transaction.
 */
import { decide, type Decision, type DeliveryPolicy } from "../../core/delivery/decide.ts";
import { byHealth, lanesOf, type Report } from "../../core/delivery/job.ts";
import { deliveryMachine, type DeliveryStatus } from "../../core/delivery/machine.ts";
import type { Dialect, Session } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import {
  applyOutcomes,
  dueBehind,
  insertFirst,
  insertRequeued,
  insertResent,
  MADE_ANEW,
  NEWEST,
  selectNewest,
  selectRequeued,
  type Outcome,
} from "./delivery-queries.ts";
import { JobCreation, type Created, type CreateJobs } from "./job-creation.ts";
import { forgetFailures, noteFailures, noteSuccesses, type LastingFailure } from "./lane-queries.ts";

export interface OrchestratorOptions {
  readonly policy: DeliveryPolicy;
  /** The limit of attempts if a subscription does not set one. */
  readonly attemptMax: number;
  readonly concurrencyMax: number;
  /** When a subscription that only fails is to be disabled. */
  readonly lastingFailure: LastingFailure;
}

/** What results mean for their deliveries, before they are applied. */
export interface Decided {
  readonly outcomes: readonly Outcome[];
  /** Deliveries that end here, if their result counts. */
  readonly exhausted: readonly string[];
  /** The shortest time until one of them is due again. */
  readonly soonestMs: number | undefined;
}

/** The statements that apply results, in this order: what counts is seen before it is applied. */
export interface Application {
  /** Returns whether subscriptions are to be disabled. Undefined: nothing failed. */
  readonly failures: Sql | undefined;
  readonly successes: Sql | undefined;
  readonly applied: Sql;
  /** Returns a row if more is due in the lanes that these results have left. */
  readonly behind: Sql;
}

const IN_PROGRESS = "InProgress";

export class Orchestrator {
  readonly #options: OrchestratorOptions;
  readonly #creation: JobCreation;

  constructor(options: OrchestratorOptions) {
    this.#options = options;
    this.#creation = new JobCreation(options);
  }

  /** Up to `jobsMax` due deliveries get a job. The job layer creates the jobs, in the same transaction. */
  createJobs(session: Session, jobsMax: number, createJobs: CreateJobs): Promise<Created> {
    return this.#creation.create(session, jobsMax, createJobs);
  }

  /** What each result would mean for its delivery. */
  decide(reports: readonly Report[]): Decided {
    const outcomes: Outcome[] = [];
    const exhausted: string[] = [];
    let soonestMs: number | undefined;
    for (const report of reports.toSorted(byDelivery)) {
      const { job, result, attemptMax } = report;
      const soFar = { id: job.deliveryId, attemptCount: job.attempt - 1, attemptMax };
      const decision = decide(soFar, result, this.#options.policy);
      outcomes.push(outcomeOf(report, decision));
      if (decision.event === "exhaust") exhausted.push(job.deliveryId);
      if (decision.event === "fail") soonestMs = Math.min(soonestMs ?? Infinity, decision.waitMs);
    }
    return { outcomes, exhausted, soonestMs };
  }

  /** Applies results whose jobs they have ended. Each counts once, for the attempt that its job was made for. */
  apply(dialect: Dialect, reports: readonly Report[], { outcomes }: Decided): Application {
    const { failed, succeeded } = byHealth(reports);
    return {
      failures: failed.length > 0 ? noteFailures(dialect, failed, this.#options.lastingFailure) : undefined,
      successes: succeeded.length > 0 ? noteSuccesses(dialect, succeeded) : undefined,
      applied: applyOutcomes(dialect, outcomes),
      behind: dueBehind(dialect, lanesOf(reports)),
    };
  }

  /** A brand-new delivery for each dead one: its id by the id of the dead one. A second call finds the first answer. */
  async requeue(session: Session, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { dialect } = session;
    const made = await session.query(insertRequeued(dialect, ids));
    const known = made.length < ids.length ? await session.query(selectRequeued(dialect, ids)) : [];
    const anew = [...made, ...known].map((row) => MADE_ANEW.read(row));
    return new Map(anew.map(({ id, requeuedFrom }) => [requeuedFrom as string, id]));
  }

  /** New deliveries for ones that have ended. If one is still open nothing is made. */
  async resend(session: Session, ids: readonly string[]): Promise<readonly string[]> {
    const made = await session.query(insertResent(session.dialect, ids));
    return made.map((row) => MADE_ANEW.read(row).id);
  }

  /** Deliveries of these events to one subscription: again if there was one, for the first time if there was none. */
  async resendEvents(session: Session, subscriptionId: string, eventIds: readonly string[]): Promise<number> {
    const { dialect } = session;
    const rows = await session.query(selectNewest(dialect, subscriptionId, eventIds));
    const newest = rows.map((row) => NEWEST.read(row));
    const routed = new Set(newest.map(({ eventId }) => eventId));
    const missing = eventIds.filter((id) => !routed.has(id));
    const ids = newest.map(({ id }) => id);
    const again = ids.length > 0 ? await this.resend(session, ids) : [];
    const first =
      missing.length > 0 ? await session.query(insertFirst(dialect, subscriptionId, missing)) : [];
    return again.length + first.length;
  }

  /** Resets the failures of a subscription. */
  async forgetFailures(session: Session, subscriptionId: string): Promise<void> {
    await session.query(forgetFailures(session.dialect, subscriptionId));
  }
}

function outcomeOf({ report, job, attemptMax }: Report, decision: Decision): Outcome {
  return {
    jobId: job.id,
    report,
    to: deliveryMachine.target(IN_PROGRESS, decision.event) as DeliveryStatus,
    error: decision.event === "succeed" ? null : decision.error,
    attemptMax,
    waitMs: decision.event === "fail" ? decision.waitMs : null,
  };
}

/** Every process locks rows in this order. */
function byDelivery(a: Report, b: Report): number {
  return Number(a.job.deliveryId) - Number(b.job.deliveryId);
}
