/** The parts of delivery by themselves, as a process has them, for tests that go between them. */
import { untraced } from "../../../src/runtime/trace.ts";
import type { JobReport, Verdict } from "../../../src/core/delivery/job.ts";
import type { JobResult } from "../../../src/core/delivery/decide.ts";
import { newId } from "../../../src/runtime/identifiers.ts";
import type { Database, Session } from "../../../src/storage/database.ts";
import { Jobs } from "../../../src/webhooks/deliver/jobs.ts";
import { Orchestrator } from "../../../src/webhooks/deliver/orchestrator.ts";
import {
  applyWaiting,
  createJobs,
  type Orchestrating,
} from "../../../src/webhooks/deliver/orchestrator-duty.ts";
import { ResultWriter } from "../../../src/webhooks/deliver/result-writer.ts";
import { DeliverySender, type DeliveryTask } from "../../../src/webhooks/deliver/sender.ts";
import { secretBox } from "../../../src/webhooks/http/secret-box.ts";
import { readSettings } from "../../../src/webhooks/settings.ts";
import { World } from "./stage.ts";

export interface Parts {
  readonly orchestrator: Orchestrator;
  readonly jobs: Jobs;
  readonly deliverySender: DeliverySender;
  /** Creates jobs for what is due, and leases them in a second statement, as another process would. */
  take(limit?: number): Promise<readonly DeliveryTask[]>;
  /** Reports a result; under the same report id if one is given. */
  tell(task: DeliveryTask, result: JobResult, report?: string): Promise<Verdict>;
  write(report: JobReport): Promise<Verdict>;
}

export interface PartsOptions {
  readonly owner?: string;
  /** The sender only settles its jobs; the orchestrator applies their results in a transaction of its own. */
  readonly isSplit?: boolean;
  readonly onDead?: (deliveryIds: readonly string[]) => void;
}

export function parts(db: Database, options: PartsOptions = {}): Parts {
  const { owner = "test", isSplit = false, onDead = () => undefined } = options;
  const { policy, attemptMax, leaseMs, leaseMax, timeoutMs } = readSettings({
    spread: 0,
    retry: { attempts: 3 },
  });
  const nothing = (): void => undefined;
  const orchestrator = new Orchestrator({
    policy,
    attemptMax,
    concurrencyMax: 256,
    lastingFailure: { afterMs: 1_000_000, failures: 10 },
  });
  const jobs = new Jobs({ leaseMs, leaseMax, owner });
  const deliverySender = new DeliverySender({
    tracer: untraced,
    sender: new World(),
    box: secretBox(undefined, ""),
    clock: db.clock,
    timeoutMs,
    attemptMax,
    newId,
  });
  const orchestrating: Orchestrating = {
    db,
    jobs,
    orchestrator,
    attemptMax,
    onDue: nothing,
    onDisable: nothing,
    onDead,
  };
  const writer = new ResultWriter({
    db,
    signal: new AbortController().signal,
    watch: { trouble: nothing, answered: nothing },
    applying: isSplit ? undefined : orchestrating,
  });
  const takeIn = async (session: Session, limit: number): Promise<readonly DeliveryTask[]> => {
    await createJobs(session, orchestrator, limit, (inside, moved) => jobs.create(inside, moved));
    return deliverySender.read(session, await jobs.lease(session, limit));
  };
  const write = async (report: JobReport): Promise<Verdict> => {
    const verdict = await writer.write(report);
    if (isSplit) await applyWaiting(orchestrating);
    return verdict;
  };
  return {
    orchestrator,
    jobs,
    deliverySender,
    take: (limit = 100) => db.transaction((session) => takeIn(session, limit)),
    tell(task, result, report) {
      const told = deliverySender.report(task, result);
      return write(report === undefined ? told : { ...told, report });
    },
    write,
  };
}
