/**
 * The background work of the orchestrator: it creates jobs for due deliveries, and applies results that senders have
 * left on their jobs. As a separate duty it runs in a process that sends nothing.
 */
import { Chore } from "../../runtime/chore.ts";
import { lookFor } from "../../runtime/duty.ts";
import type { Database, Session } from "../../storage/database.ts";
import { runInside } from "../../storage/named-batch.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { insertLetters } from "../dead-letters/queries.ts";
import { DUE, selectDue, untilDue, type DueKind } from "./delivery-queries.ts";
import type { Created, CreateJobs } from "./job-creation.ts";
import { clearResults } from "./job-queries.ts";
import type { Jobs } from "./jobs.ts";
import type { Orchestrator } from "./orchestrator.ts";
import { announce, type Applying } from "./result-writer.ts";

export interface Orchestrating extends Applying {
  readonly db: Database;
  readonly jobs: Jobs;
  /** The limit of attempts if a subscription does not set one. */
  readonly attemptMax: number;
}

/** How long to wait before the next look if another process is creating jobs, or if there are further lanes. */
const AGAIN_MS = 5;

/** How many results one transaction applies at most, and how many jobs one creates. */
const BATCH = 500;

/** Most polls find nothing: they must not cost a transaction or the lock. */
export async function lookForDue(
  db: Pick<Database, "dialect" | "query">,
  kinds: readonly DueKind[],
): Promise<Readonly<Record<DueKind, boolean>>> {
  const [row] = await db.query(selectDue(db.dialect, kinds));
  return DUE.read(row ?? {});
}

/** Creates up to `jobsMax` jobs. A delivery whose limit was lowered while it waited gets its dead letter instead. */
export async function createJobs(
  session: Session,
  orchestrator: Orchestrator,
  jobsMax: number,
  create: CreateJobs,
): Promise<Created> {
  const created = await orchestrator.createJobs(session, jobsMax, create);
  if (created.dead.length > 0) await session.query(insertLetters(session.dialect, created.dead));
  return created;
}

/** After the commit. */
export function afterCreation({ onDead, onDue }: Applying, { dead, again, pacedMs }: Created): void {
  if (dead.length > 0) onDead(dead);
  if (again) onDue(AGAIN_MS);
  else if (pacedMs !== undefined) onDue(pacedMs);
}

/** Applies results that senders have left on their jobs. Returns how many. */
export async function applyWaiting(orchestrating: Orchestrating, limit: number = BATCH): Promise<number> {
  const { db, jobs, orchestrator, attemptMax, onDead } = orchestrating;
  const { dialect } = db;
  const done = await db.transaction(async (session) => {
    const reports = await jobs.results(session, attemptMax, limit);
    if (reports.length === 0) return undefined;
    const decided = orchestrator.decide(reports);
    const { exhausted } = decided;
    const rows = await runInside(session, {
      ...orchestrator.apply(dialect, reports, decided),
      letters: exhausted.length > 0 ? insertLetters(dialect, exhausted) : undefined,
      cleared: clearResults(dialect, reports),
    });
    return { count: reports.length, decided, rows };
  });
  if (!done) return 0;
  const { count, decided, rows } = done;
  announce(orchestrating, decided, rows);
  if (decided.exhausted.length > 0) onDead(decided.exhausted);
  return count;
}

/** The duty of a process that decides and does not send: it creates jobs for any sender. */
export function orchestratorDuty(
  orchestrating: Orchestrating,
  retryLimits: RetryLimits,
  check: () => Promise<void>,
): Chore {
  const { db, jobs, orchestrator } = orchestrating;
  const create: CreateJobs = (session, moved) => jobs.create(session, moved);
  const run = async (limit: number): Promise<number> => {
    const due = await lookForDue(db, ["results", "deliveries"]);
    const applied = due.results ? await applyWaiting(orchestrating, limit) : 0;
    if (!due.deliveries) return applied;
    const created = await db.transaction(async (session) => {
      const made = await createJobs(session, orchestrator, limit, create);
      const notice = made.count > 0 ? session.dialect.notify() : undefined;
      if (notice) await session.query(notice);
      return made;
    });
    afterCreation(orchestrating, created);
    return Math.min(limit, applied + created.count + created.dead.length);
  };
  return new Chore({
    name: "webhooks:orchestrator",
    isOptional: true,
    check,
    batch: BATCH,
    look: lookFor(() => untilDue(db.dialect, ["results", "deliveries"])),
    run: (limit) => persist(db, () => run(limit), retryLimits),
  });
}
