/**
 * The desk where deliveries are worked on. One commit creates jobs for what is due and leases them; the calls are made
 * without any transaction; one commit books what came of them (booking.ts).
 */
import { isRefusal, type WriteMode } from "../storage/checked-write.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database, Session } from "../storage/database.ts";
import { BRIEF_RETRIES, persist } from "../storage/retry.ts";
import { LeasePool } from "../runtime/lease-pool.ts";
import type { Lease } from "../runtime/lease.ts";
import type { Booking } from "./booking.ts";
import type { DeadLetters } from "./dead-letters/dead-letters.ts";
import type { JobLayer } from "./jobs/job-layer.ts";
import type { Orchestrator } from "./orchestrator/orchestrator.ts";
import { selectDue } from "./due-queries.ts";
import { ACTIVE_JOB } from "./orchestrator/queries.ts";
import type { DeliverySender, DeliveryTask } from "./worker/courier.ts";

export interface DispatchParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly leaseMs: number;
  readonly capacity: number;
  readonly orchestrator: Orchestrator;
  readonly jobs: JobLayer;
  readonly deliverySender: DeliverySender;
  readonly deadLetters: DeadLetters;
  readonly booking: () => Booking;
  readonly onDead: (deliveryIds: readonly string[]) => void;
  readonly onTrouble: (error: unknown, attempt: number) => void;
  readonly onBug: (error: unknown) => void;
}

/** Another process creates jobs at this very moment, or there are further lanes: look again after so long. */
const AGAIN_MS = 5;

export function dispatchDesk(parts: DispatchParts): LeasePool<DeliveryTask> {
  const { db, clock, signal, jobs, deliverySender, booking, onTrouble } = parts;
  const retryLimits = { ...BRIEF_RETRIES, signal, onTrouble };
  /** The last claim filled every place: there is more, and nobody needs to look whether there is. */
  let isFull = false;
  const pool: LeasePool<DeliveryTask> = new LeasePool<DeliveryTask>({
    name: "webhooks",
    capacity: parts.capacity,
    clock,
    leaseMs: parts.leaseMs,
    claim: async (limit, except) => {
      const lookIn = (ms: number): void => pool.dueIn(ms);
      const errands = await persist(
        db,
        () => claim(parts, limit, except, isFull ? ALL_DUE : undefined, lookIn),
        retryLimits,
      );
      isFull = errands.length === limit;
      return errands;
    },
    renew: (errands) => persist(db, () => jobs.renew(db, errands), retryLimits),
    run: (task, lease) => run(parts, task, lease),
    release: (task) => persist(db, () => jobs.release(db, task), retryLimits),
    drained: () => booking().drained(),
    onBug: parts.onBug,
  });
  return pool;

  async function run({ jobs: layer }: DispatchParts, task: DeliveryTask, lease: Lease): Promise<void> {
    const synthetic = layer.syntheticResult(task.job);
    const report = synthetic
      ? deliverySender.report(task, synthetic)
      : await deliverySender.carry(task, lease);
    // A call that was told to stop because the worker stops has no outcome: the job is given back.
    if (!report || (lease.stopped === "shutdown" && !report.result.ok)) return;
    await booking().book(report);
  }
}

/** What there is to do. */
interface Due {
  readonly deliveries: boolean;
  readonly jobs: boolean;
}

const ALL_DUE: Due = { deliveries: true, jobs: true };

/** Most looks find nothing: they must not cost a transaction, let alone the turn. */
async function lookForDue(db: Database): Promise<Due> {
  const [row] = await db.query(selectDue(db.dialect));
  return { deliveries: Number(row?.["deliveries"]) === 1, jobs: Number(row?.["jobs"]) === 1 };
}

async function claim(
  parts: DispatchParts,
  limit: number,
  except: readonly string[],
  known: Due | undefined,
  lookIn: (ms: number) => void,
): Promise<readonly DeliveryTask[]> {
  const { db, orchestrator, jobs, deliverySender, deadLetters } = parts;
  const { dialect } = db;
  const due = known ?? (await lookForDue(db));
  if (!due.deliveries && !due.jobs) return [];
  let dead: readonly string[] = [];
  let lookInMs: number | undefined;
  const take = async (session: Session, mode: WriteMode): Promise<readonly DeliveryTask[]> => {
    // Jobs that wait for a worker come first: new ones are made for the places that are left, and are ours from the start.
    const waiting = due.jobs ? await jobs.lease(session, limit, except) : [];
    if (!due.deliveries || waiting.length >= limit) return deliverySender.read(session, waiting);
    const room = limit - waiting.length;
    const created = await orchestrator.createJobs(session, room, jobs.initialClaim(dialect), mode);
    await deadLetters.record(session, created.dead);
    dead = created.dead;
    lookInMs = created.again ? AGAIN_MS : created.pacedMs;
    return deliverySender.read(session, [...waiting, ...jobs.taken(created.born)]);
  };
  const errands = await db
    .transaction((session) => take(session, "optimistic"))
    .catch((error: unknown) => {
      if (!isRefusal(dialect, error, [ACTIVE_JOB])) throw error;
      return db.transaction((session) => take(session, "checked"));
    });
  if (dead.length > 0) parts.onDead(dead);
  if (lookInMs !== undefined) lookIn(lookInMs);
  return errands;
}
