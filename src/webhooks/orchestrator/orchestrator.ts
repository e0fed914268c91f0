/**
 * The only one that changes the state of a delivery. It decides; it sends nothing, leases nothing, reads no payload, and
 * changes neither events nor subscriptions. Everything happens in the transaction of whoever asks.
 */
import { decide, type Decision, type DeliveryPolicy } from "../../core/delivery/decide.ts";
import { patternsFor } from "../../core/delivery/event-type.ts";
import { pairOf, type Attributes } from "../../core/delivery/filter.ts";
import { byHealth, lanesOf, type JobReport, type LeasedJob } from "../../core/delivery/job.ts";
import { deliveryMachine } from "../../core/delivery/machine.ts";
import type { InitialClaim } from "../../storage/claim.ts";
import type { WriteMode } from "../../storage/checked-write.ts";
import type { Dialect, Session } from "../../storage/database.ts";
import type { Stage } from "../../storage/stages.ts";
import { JobCreation, type Created } from "./job-creation.ts";
import {
  applyOptimistic,
  applyOutcomes,
  BEHIND,
  dueBehind,
  forgetFailures,
  insertFirst,
  insertRequeued,
  insertResent,
  noteFailing,
  noteFailures,
  noteHealthy,
  noteSuccesses,
  selectNewest,
  selectRequeued,
  type Outcome,
  type Report,
} from "./outcome-queries.ts";
import { routeEvent } from "./queries.ts";

export interface OrchestratorOptions {
  readonly policy: DeliveryPolicy;
  /** The limit of attempts where a subscription has none of its own. */
  readonly attemptMax: number;
  readonly concurrencyMax: number;
}

/** What results mean, before they are booked. */
export interface Verdicts {
  readonly outcomes: readonly Outcome[];
  /** Deliveries that end here, if their result counts. */
  readonly exhausted: readonly string[];
  /** The shortest time until one of them is due again. */
  readonly soonestMs: number | undefined;
}

/** What results led to. */
export interface Applied {
  /** More is due in the lanes that these results have left. */
  readonly more: boolean;
}

const IN_PROGRESS = "InProgress";

export class Orchestrator {
  readonly #options: OrchestratorOptions;
  readonly #creation: JobCreation;

  constructor(options: OrchestratorOptions) {
    this.#options = options;
    this.#creation = new JobCreation(options);
  }

  /** One delivery for each subscription that wants the event. Routing it again makes no second one. */
  async route(
    session: Session,
    event: { readonly id: string; readonly type: string; readonly attributes: Attributes },
  ): Promise<void> {
    const pairs = Object.entries(event.attributes).map(([name, value]) => pairOf(name, value));
    await session.query(routeEvent(session.dialect, event.id, patternsFor(event.type), pairs));
  }

  /** With a birth, those that are due at once are written as it says and come back as rows. */
  createJobs(
    session: Session,
    jobsMax: number,
    initialClaim?: InitialClaim,
    mode?: WriteMode,
  ): Promise<Created> {
    return this.#creation.create(session, jobsMax, initialClaim, mode);
  }

  /** What each result would mean for its delivery. */
  decide(reports: readonly JobReport[]): Verdicts {
    const outcomes: Outcome[] = [];
    const exhausted: string[] = [];
    let soonestMs: number | undefined;
    for (const { report, job, result, attemptMax } of reports.toSorted(byDelivery)) {
      const soFar = { id: job.deliveryId, attemptCount: job.attempt - 1, attemptMax };
      const decision = decide(soFar, result, this.#options.policy);
      outcomes.push(outcomeOf(job, report, decision, attemptMax));
      if (decision.event === "exhaust") exhausted.push(job.deliveryId);
      if (decision.event === "fail") soonestMs = Math.min(soonestMs ?? Infinity, decision.waitMs);
    }
    return { outcomes, exhausted, soonestMs };
  }

  /** Books results whose jobs they have ended. Each counts once, for the attempt that its job was made for. */
  async apply(
    session: Session,
    reports: readonly JobReport[],
    { outcomes }: Verdicts = this.decide(reports),
  ): Promise<Applied> {
    const { dialect } = session;
    const { failed, succeeded } = byHealth(reports);
    // In this order: what counts is seen before it is applied.
    const [, , , behind] = await Promise.all([
      failed.length > 0 ? session.query(noteFailures(dialect, keysOf(failed))) : undefined,
      succeeded.length > 0 ? session.query(noteSuccesses(dialect, keysOf(succeeded))) : undefined,
      session.query(applyOutcomes(dialect, outcomes)),
      session.query(dueBehind(dialect, lanesOf(reports))),
    ]);
    return { more: behind.length > 0 };
  }

  /**
   * The same as stages that refuse everything unless each result counts, and that answer whether more is due behind them.
   * What failed is noted afterwards.
   */
  applyOptimistic(dialect: Dialect, reports: readonly JobReport[], { outcomes }: Verdicts): readonly Stage[] {
    const { succeeded } = byHealth(reports);
    const healthy = (): Stage => ({
      name: "healthy",
      statement: noteHealthy(dialect, lanesOf(succeeded)),
    });
    return [
      {
        name: "applied",
        statement: applyOptimistic(dialect, outcomes),
        expectRows: outcomes.length,
        otherwise: "refuse",
      },
      ...(succeeded.length > 0 ? [healthy()] : []),
      { name: BEHIND, statement: dueBehind(dialect, lanesOf(reports)), expectRows: 0 },
    ];
  }

  /** In the transaction of those stages. */
  async afterOptimistic(session: Session, reports: readonly JobReport[]): Promise<void> {
    const counts = new Map<string, number>();
    for (const { job } of byHealth(reports).failed)
      counts.set(job.subscriptionId, (counts.get(job.subscriptionId) ?? 0) + 1);
    if (counts.size > 0) await session.query(noteFailing(session.dialect, [...counts]));
  }

  /** A brand-new delivery for each dead one: its id by the id of the dead one. Asking twice finds the first answer. */
  async requeue(session: Session, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { dialect } = session;
    const made = await session.query(insertRequeued(dialect, ids));
    const known = made.length < ids.length ? await session.query(selectRequeued(dialect, ids)) : [];
    return new Map([...made, ...known].map((row) => [String(row["requeued_from"]), String(row["id"])]));
  }

  /** New deliveries for ones that have ended. Where one is still open nothing is made. */
  async resend(session: Session, ids: readonly string[]): Promise<readonly string[]> {
    const made = await session.query(insertResent(session.dialect, ids));
    return made.map((row) => String(row["id"]));
  }

  /** Deliveries of these events to one subscription: again where there was one, for the first time where there was none. */
  async resendEvents(session: Session, subscriptionId: string, eventIds: readonly string[]): Promise<number> {
    const { dialect } = session;
    const newest = await session.query(selectNewest(dialect, subscriptionId, eventIds));
    const routed = new Set(newest.map((row) => String(row["event_id"])));
    const missing = eventIds.filter((id) => !routed.has(id));
    const ids = newest.map((row) => String(row["id"]));
    const again = ids.length > 0 ? await this.resend(session, ids) : [];
    const first =
      missing.length > 0 ? await session.query(insertFirst(dialect, subscriptionId, missing)) : [];
    return again.length + first.length;
  }

  /** A subscription starts afresh: what failed before says nothing about it any more. */
  async forgetFailures(session: Session, subscriptionId: string): Promise<void> {
    await session.query(forgetFailures(session.dialect, subscriptionId));
  }
}

function keysOf(reports: readonly JobReport[]): readonly Report[] {
  return reports.map(({ job, report }) => [job.id, report] as const);
}

function outcomeOf(job: LeasedJob, report: string, decision: Decision, attemptMax: number): Outcome {
  return {
    jobId: job.id,
    report,
    deliveryId: job.deliveryId,
    attempt: job.attempt,
    to: deliveryMachine.target(IN_PROGRESS, decision.event) as string,
    error: decision.event === "succeed" ? null : decision.error,
    attemptMax,
    waitMs: decision.event === "fail" ? decision.waitMs : null,
  };
}

/** Rows are locked in this order by everybody. */
function byDelivery(a: JobReport, b: JobReport): number {
  return Number(a.job.deliveryId) - Number(b.job.deliveryId);
}
