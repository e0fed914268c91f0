/** Leased jobs at work: each is sent without any transaction, and its result is written (result-writer.ts). */
import type { Clock } from "../../storage/clock.ts";
import type { Database } from "../../storage/database.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { lookFor } from "../../runtime/duty.ts";
import { LeasePool, type LeasePoolOptions } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import { untilDue } from "./delivery-queries.ts";
import type { Jobs } from "./jobs.ts";
import type { ResultWriter } from "./result-writer.ts";
import type { DeliverySender, DeliveryTask } from "./sender.ts";

export interface SendingParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly retryLimits: RetryLimits;
  readonly leaseMs: number;
  readonly capacity: number;
  readonly jobs: Jobs;
  readonly sender: DeliverySender;
  readonly onBug: (error: unknown) => void;
}

/** Takes up to `limit` jobs, but none of `except`: calls for them that were lost still run here. */
export type ClaimTasks = (limit: number, except: readonly string[]) => Promise<readonly DeliveryTask[]>;

export function sendingPool(
  duty: Pick<LeasePoolOptions<DeliveryTask>, "name" | "isOptional" | "check" | "look">,
  parts: SendingParts,
  writer: ResultWriter,
  claim: ClaimTasks,
): LeasePool<DeliveryTask> {
  const { db, jobs, retryLimits } = parts;
  return new LeasePool<DeliveryTask>({
    ...duty,
    capacity: parts.capacity,
    clock: parts.clock,
    leaseMs: parts.leaseMs,
    claim: (limit, except) => persist(db, () => claim(limit, except), retryLimits),
    renew: (tasks) => persist(db, () => jobs.renew(db, tasks), retryLimits),
    run: (task, lease) => run(parts, writer, task, lease),
    release: (task) => persist(db, () => jobs.release(db, task), retryLimits),
    drained: () => writer.drained(),
    onBug: parts.onBug,
  });
}

async function run(
  { jobs, sender }: SendingParts,
  writer: ResultWriter,
  task: DeliveryTask,
  lease: Lease,
): Promise<void> {
  const synthetic = jobs.syntheticResult(task.job);
  const report = synthetic ? sender.report(task, synthetic) : await sender.send(task, lease);
  // A call that was aborted because the worker stops has no outcome: its job is released.
  if (!report || (lease.stopped === "shutdown" && !report.result.ok)) return;
  await writer.write(report);
}

/** The duty of a process that only sends: it leases jobs that an orchestrator made. */
export function senderDuty(
  parts: SendingParts,
  writer: ResultWriter,
  check: () => Promise<void>,
): LeasePool<DeliveryTask> {
  const { db, jobs, sender } = parts;
  const look = lookFor(() => untilDue(db.dialect, ["jobs"]));
  const duty = { name: "webhooks:sender", isOptional: true, check, look };
  return sendingPool(duty, parts, writer, (limit, except) =>
    db.transaction(async (session) => sender.read(session, await jobs.lease(session, limit, except))),
  );
}
