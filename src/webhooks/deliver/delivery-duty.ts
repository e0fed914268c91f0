/**
 * The duty of a process that delivers by itself. One commit creates jobs for what is due and leases them; the calls are
 * made without any transaction; one commit writes what came of them and applies it (result-writer.ts).
 */
import { lookFor } from "../../runtime/duty.ts";
import type { LeasePool } from "../../runtime/lease-pool.ts";
import { untilDue } from "./delivery-queries.ts";
import type { CreateJobs } from "./job-creation.ts";
import {
  afterCreation,
  applyWaiting,
  createJobs,
  lookForDue,
  type Orchestrating,
} from "./orchestrator-duty.ts";
import type { ResultWriter } from "./result-writer.ts";
import type { DeliveryTask } from "./sender.ts";
import { sendingPool, type SendingParts } from "./sending-pool.ts";

const ALL_DUE = { deliveries: true, jobs: true, results: false } as const;

export function deliveryDuty(
  parts: SendingParts,
  orchestrating: Orchestrating,
  writer: ResultWriter,
  check: () => Promise<void>,
): LeasePool<DeliveryTask> {
  const { db, jobs, sender } = parts;
  const { orchestrator } = orchestrating;
  const create: CreateJobs = (session, moved) => jobs.createLeased(session, moved);
  /** The last claim filled every place: there is more, and a look whether there is would be in vain. */
  let isFull = false;
  const look = lookFor(() => untilDue(db.dialect, ["deliveries", "jobs", "results"]));
  return sendingPool({ name: "webhooks", check, look }, parts, writer, async (limit, except) => {
    const due = isFull ? ALL_DUE : await lookForDue(db, ["deliveries", "jobs", "results"]);
    // A process that only sends may have left results on their jobs.
    if (due.results) await applyWaiting(orchestrating);
    if (!due.deliveries && !due.jobs) return [];
    const { tasks, created } = await db.transaction(async (session) => {
      // Jobs that wait for a sender come first: new ones are made for the places that are left.
      const waiting = due.jobs ? await jobs.lease(session, limit, except) : [];
      const room = due.deliveries ? limit - waiting.length : 0;
      const made = room > 0 ? await createJobs(session, orchestrator, room, create) : undefined;
      return {
        tasks: await sender.read(session, [...waiting, ...(made?.jobs ?? [])]),
        created: made,
      };
    });
    if (created) afterCreation(orchestrating, created);
    isFull = tasks.length === limit;
    return tasks;
  });
}
