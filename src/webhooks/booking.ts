/**
 * The one commit after a call: the job's end, the attempt, what it means for the delivery, the dead letter, and what
 * follows for the subscription. Each part writes its own tables; here they are put into one transaction, for as many
 * results as have gathered.
 */
import type { JobReport, Verdict } from "../core/delivery/job.ts";
import type { Database, Session } from "../storage/database.ts";
import { GroupWriter } from "../storage/group-writer.ts";
import type { DeadLetters } from "./dead-letters/dead-letters.ts";
import type { JobLayer, Taken } from "./jobs/job-layer.ts";
import type { Orchestrator } from "./orchestrator/orchestrator.ts";
import type { Publisher } from "./publishing.ts";
import type { Disabled, Subscriptions } from "./subscriptions/subscriptions.ts";
import type { Courier } from "./worker/courier.ts";

export interface BookingParts {
  readonly db: Database;
  readonly signal: AbortSignal;
  readonly jobs: JobLayer;
  readonly courier: Courier;
  readonly orchestrator: Orchestrator;
  readonly deadLetters: DeadLetters;
  readonly subscriptions: Subscriptions;
  readonly publisher: Publisher;
  onTrouble(error: unknown, attempt: number): void;
  /** After the commit: something is due now, or in so long. */
  onDue(ms: number): void;
  onDead(deliveryIds: readonly string[]): void;
  onDisabled(disabled: readonly Disabled[]): void;
}

/** The type of the event that tells of a subscription that Amends has disabled. */
export const DISABLED_EVENT = "amends.subscription.disabled";

/** So many waiting results are worth a second flush beside the first. */
const CROWD = 64;
const BYTES_BESIDES = 500;

interface Effects {
  readonly taken: ReadonlyMap<string, Taken>;
  readonly dead: readonly string[];
  readonly disabled: readonly Disabled[];
  readonly soonestMs: number | undefined;
  readonly more: boolean;
}

export class Booking {
  readonly #parts: BookingParts;
  readonly #writer: GroupWriter<JobReport, Verdict>;

  constructor(parts: BookingParts) {
    this.#parts = parts;
    this.#writer = new GroupWriter<JobReport, Verdict>({
      db: parts.db,
      signal: parts.signal,
      crowd: CROWD,
      onTrouble: (error, attempt) => parts.onTrouble(error, attempt),
      hasty: () => false,
      bytes: ({ attempt }) => (attempt.responseBody?.length ?? 0) + BYTES_BESIDES,
      flush: (reports) => this.#flush(reports),
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
    const { db, onDue, onDead, onDisabled } = this.#parts;
    const effects = await db.transaction((session) => this.#write(session, reports));
    const { taken, dead, disabled, soonestMs, more } = effects;
    if (dead.length > 0) onDead(dead);
    if (disabled.length > 0) onDisabled(disabled);
    if (more) onDue(0);
    else if (soonestMs !== undefined) onDue(soonestMs);
    return reports.map(({ report }) => taken.get(report)?.verdict ?? "foreign");
  }

  async #write(session: Session, reports: readonly JobReport[]): Promise<Effects> {
    const { jobs, courier, orchestrator, deadLetters } = this.#parts;
    const taken = await jobs.settle(session, reports);
    const verdictOf = ({ report }: JobReport): Verdict => taken.get(report)?.verdict ?? "foreign";
    await courier.record(
      session,
      reports.map((report) => ({ report, verdict: verdictOf(report) })),
    );
    const fresh = reports.filter(({ report }) => taken.get(report)?.now === true);
    if (fresh.length === 0) return { taken, dead: [], disabled: [], soonestMs: undefined, more: false };
    const applied = await orchestrator.apply(session, fresh);
    await deadLetters.record(session, applied.dead);
    return { taken, ...applied, disabled: await this.#disable(session, fresh) };
  }

  async #disable(session: Session, fresh: readonly JobReport[]): Promise<readonly Disabled[]> {
    const { subscriptions, publisher } = this.#parts;
    const lanesOf = (some: readonly JobReport[]): readonly string[] => [
      ...new Set(some.map(({ job }) => job.subscriptionId)),
    ];
    const sent = fresh.filter(({ result, attempt }) => !result.ok && attempt.sentAtMs !== null);
    if (sent.length === 0) return [];
    const gone = sent.filter(({ result }) => result.final === true);
    const disabled = await subscriptions.disableHopeless(session, lanesOf(gone), lanesOf(sent));
    for (const { id, reason, updatedAtMs } of disabled) {
      const key = `amends-disabled-${id}-${updatedAtMs}`;
      await publisher.announce(session, key, DISABLED_EVENT, { subscriptionId: id, reason });
    }
    return disabled;
  }
}
