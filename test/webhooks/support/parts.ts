/** The parts of delivery by themselves, as a process has them, for tests that go between them. */
import { untraced } from "../../../src/runtime/trace.ts";
import type { JobReport, Verdict } from "../../../src/core/delivery/job.ts";
import type { JobResult } from "../../../src/core/delivery/decide.ts";
import { newId } from "../../../src/runtime/identifiers.ts";
import type { Database, Session } from "../../../src/storage/database.ts";
import { Booking } from "../../../src/webhooks/booking.ts";
import { DeadLetters } from "../../../src/webhooks/dead-letters/dead-letters.ts";
import { JobLayer } from "../../../src/webhooks/jobs/job-layer.ts";
import { Orchestrator } from "../../../src/webhooks/orchestrator/orchestrator.ts";
import { Publisher } from "../../../src/webhooks/publishing.ts";
import { secretBox } from "../../../src/webhooks/sending/secret-box.ts";
import { readSettings } from "../../../src/webhooks/settings.ts";
import { Subscriptions } from "../../../src/webhooks/subscriptions/subscriptions.ts";
import { DeliverySender, type DeliveryTask } from "../../../src/webhooks/worker/courier.ts";
import { World } from "./stage.ts";

export interface Parts {
  readonly orchestrator: Orchestrator;
  readonly jobs: JobLayer;
  readonly deliverySender: DeliverySender;
  readonly deadLetters: DeadLetters;
  /** Creates jobs for what is due and leases them. */
  take(limit?: number): Promise<readonly DeliveryTask[]>;
  /** Tells a result; under the same report id where one is given. */
  tell(task: DeliveryTask, result: JobResult, report?: string): Promise<Verdict>;
  book(report: JobReport): Promise<Verdict>;
}

export function parts(
  db: Database,
  owner: string = "test",
  onDead: (deliveryIds: readonly string[]) => void = () => undefined,
): Parts {
  const { policy, attemptMax, leaseMs, leaseMax, timeoutMs, payloadMax } = readSettings({
    spread: 0,
    retry: { attempts: 3 },
  });
  const sender = new World();
  const box = secretBox(undefined, "");
  const orchestrator = new Orchestrator({ policy, attemptMax, concurrencyMax: 256 });
  const jobs = new JobLayer({ leaseMs, leaseMax, owner });
  const deliverySender = new DeliverySender({
    tracer: untraced,
    sender,
    box,
    clock: db.clock,
    timeoutMs,
    attemptMax,
    newId,
  });
  const deadLetters = new DeadLetters((session, ids) => orchestrator.requeue(session, ids));
  const subscriptions = new Subscriptions({
    defaults: { concurrency: 4, checkUrl: () => undefined },
    box,
    disableAfterMs: 1_000_000,
    disableAfterFailures: 10,
  });
  const nothing = (): void => undefined;
  const booking = new Booking({
    db,
    signal: new AbortController().signal,
    jobs,
    deliverySender,
    orchestrator,
    deadLetters,
    subscriptions,
    publisher: new Publisher(orchestrator, payloadMax, newId),
    onTrouble: nothing,
    onDue: nothing,
    onDead,
    onDisabled: nothing,
  });
  const takeIn = async (session: Session, limit: number): Promise<readonly DeliveryTask[]> => {
    const created = await orchestrator.createJobs(session, limit);
    await deadLetters.record(session, created.dead);
    return deliverySender.read(session, await jobs.lease(session, limit));
  };
  return {
    orchestrator,
    jobs,
    deliverySender,
    deadLetters,
    take: (limit = 100) => db.transaction((session) => takeIn(session, limit)),
    tell(task, result, report) {
      const told = deliverySender.report(task, result);
      return booking.book(report === undefined ? told : { ...told, report });
    },
    book: (report) => booking.book(report),
  };
}
