/**
 * The one commit after a call: the job's end, the attempt, what it means for the delivery, and the dead letter. Each part
 * writes its own tables; here they are put into one transaction and one round trip, for as many results as have gathered.
 * Nothing here waits for an answer before it asks on: what counts is decided by the rows themselves.
 */
import { byHealth, lanesOf, type JobReport, type Verdict } from "../core/delivery/job.ts";
import { isRefusal } from "../storage/checked-write.ts";
import type { Database } from "../storage/database.ts";
import { gather } from "../storage/gather.ts";
import { statementsOf } from "../storage/stages.ts";
import { OutcomeWriter } from "../runtime/outcome-writer.ts";
import type { DeadLetters } from "./dead-letters/dead-letters.ts";
import type { JobLayer } from "./jobs/job-layer.ts";
import { BEHIND } from "./orchestrator/outcome-queries.ts";
import type { Applied, Orchestrator, Verdicts } from "./orchestrator/orchestrator.ts";
import type { Publisher } from "./publishing.ts";
import type { Disabled, Subscriptions } from "./subscriptions/subscriptions.ts";
import type { DeliverySender } from "./worker/courier.ts";
import { RECORDED_REPORT } from "./worker/queries.ts";

export interface BookingParts {
  readonly db: Database;
  readonly signal: AbortSignal;
  readonly jobs: JobLayer;
  readonly deliverySender: DeliverySender;
  readonly orchestrator: Orchestrator;
  readonly deadLetters: DeadLetters;
  readonly subscriptions: Subscriptions;
  readonly publisher: Publisher;
  readonly onTrouble: (error: unknown, attempt: number) => void;
  /** After the commit: something is due now, or in so long. */
  readonly onDue: (ms: number) => void;
  readonly onDead: (deliveryIds: readonly string[]) => void;
  readonly onDisabled: (disabled: readonly Disabled[]) => void;
}

/** The type of the event that tells of a subscription that Amends has disabled. */
export const DISABLED_EVENT = "amends.subscription.disabled";

/** So many waiting results are worth a second flush beside the first. */
const PARALLEL_FROM = 64;
const BYTES_BESIDES = 500;

interface Booked {
  /** The reports that have ended their jobs now. */
  readonly settled: ReadonlySet<string> | "all";
  readonly applied: Applied;
}

export class Booking {
  readonly #parts: BookingParts;
  readonly #writer: OutcomeWriter<JobReport, Verdict>;

  constructor(parts: BookingParts) {
    this.#parts = parts;
    this.#writer = new OutcomeWriter<JobReport, Verdict>({
      db: parts.db,
      signal: parts.signal,
      parallelFrom: PARALLEL_FROM,
      onTrouble: (error, attempt) => parts.onTrouble(error, attempt),
      bytes: ({ attempt }) => (attempt.responseBody?.length ?? 0) + BYTES_BESIDES,
      write: (reports) => this.#flush(reports),
    });
  }

  book(report: JobReport): Promise<Verdict> {
    return this.#writer.submit(report);
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  get commits(): number {
    return this.#writer.flushes;
  }

  async #flush(reports: readonly JobReport[]): Promise<readonly Verdict[]> {
    const { orchestrator, onDue, onDead } = this.#parts;
    const decided = orchestrator.decide(reports);
    const { settled, applied } =
      (await this.#optimistic(reports, decided)) ?? (await this.#checked(reports, decided));
    if (applied.more) onDue(0);
    else if (decided.soonestMs !== undefined) onDue(decided.soonestMs);
    await this.#disableFailing(reports);
    const verdicts = await this.#verdictsOn(reports, settled);
    const exhausted = new Set(decided.exhausted);
    const dead = reports.filter(
      ({ job }, index) => verdicts[index] === "accepted" && exhausted.has(job.deliveryId),
    );
    if (dead.length > 0) onDead(dead.map(({ job }) => job.deliveryId));
    return verdicts;
  }

  async #verdictsOn(reports: readonly JobReport[], settled: Booked["settled"]): Promise<readonly Verdict[]> {
    if (settled === "all") return reports.map(() => "accepted");
    const { db, deliverySender } = this.#parts;
    const others = reports.filter(({ report }) => !settled.has(report)).map(({ report }) => report);
    // Also one whose commit had succeeded when its answer was lost: it is on record as accepted.
    const verdicts = others.length > 0 ? await deliverySender.verdicts(db, others) : undefined;
    return reports.map(({ report }) =>
      settled.has(report) ? "accepted" : (verdicts?.get(report) ?? "foreign"),
    );
  }

  /**
   * Nearly always each report is about a job that waits for it: all are written as if it were so, and counted in the
   * end. Undefined, with nothing written, where one was late, repeated or foreign; or where the database cannot.
   */
  async #optimistic(reports: readonly JobReport[], decided: Verdicts): Promise<Booked | undefined> {
    const { db, jobs, deliverySender, orchestrator, deadLetters } = this.#parts;
    const { dialect } = db;
    if (dialect.name === "sqlite") return undefined;
    const stages = [
      jobs.settleOptimistic(dialect, reports),
      ...orchestrator.applyOptimistic(dialect, reports, decided),
      deliverySender.recordOptimistic(dialect, reports),
    ];
    try {
      const [answers] = await gather(db, (session) => {
        const written = statementsOf(dialect, stages, ["stage"]).map((statement) => session.query(statement));
        return Promise.all([
          Promise.all(written),
          orchestrator.afterOptimistic(session, reports),
          deadLetters.record(session, decided.exhausted),
        ]);
      });
      const more = answers.flat().some((row) => row["stage"] === BEHIND);
      return { settled: "all", applied: { more } };
    } catch (error) {
      if (!isRefusal(dialect, error, [RECORDED_REPORT])) throw error;
      return undefined;
    }
  }

  /** What counts is decided report by report. */
  async #checked(reports: readonly JobReport[], decided: Verdicts): Promise<Booked> {
    const { db, jobs, deliverySender, orchestrator, deadLetters } = this.#parts;
    const [settled, applied] = await gather(db, (session) =>
      Promise.all([
        jobs.settle(session, reports),
        orchestrator.apply(session, reports, decided),
        deadLetters.record(session, decided.exhausted),
        deliverySender.record(session, reports),
      ]),
    );
    return { settled, applied };
  }

  /**
   * After the commit, in one of its own together with the notice: a process that dies in between leaves it to whoever
   * meets the next failure.
   */
  async #disableFailing(reports: readonly JobReport[]): Promise<void> {
    const { db, subscriptions, publisher, onDisabled } = this.#parts;
    const { failed } = byHealth(reports);
    if (failed.length === 0) return;
    const gone = lanesOf(failed.filter(({ result }) => result.final === true));
    const lasting = await subscriptions.failing(db, lanesOf(failed));
    if (gone.length + lasting.length === 0) return;
    const disabled = await db.transaction(async (session) => {
      const done = await subscriptions.disable(session, gone, lasting);
      for (const { id, reason, updatedAtMs } of done) {
        const key = `amends-disabled-${id}-${updatedAtMs}`;
        await publisher.announce(session, key, DISABLED_EVENT, { subscriptionId: id, reason });
      }
      return done;
    });
    if (disabled.length > 0) onDisabled(disabled);
  }
}
