/** What a worker gets of the Amends that makes it. */
import { AmendsError } from "../core/errors.ts";
import type { Engine } from "../sagas/engine/engine.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import { retrying } from "../storage/read/reader.ts";
import type { Duty } from "../runtime/duty.ts";
import { Look } from "../runtime/polling/look.ts";
import { Presence } from "../runtime/presence/presence.ts";
import type { LongSteps } from "./budget/long-steps.ts";
import { nextDueMs } from "./budget/next-due.ts";
import { Readiness } from "./health/readiness.ts";
import type { Outages } from "./log/outages.ts";
import { dutiesOf, type Parts } from "./parts.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

export interface WorkerTools {
  readonly database: Database | undefined;
  readonly clock: Clock;
  readonly owner: string;
  readonly engine: Engine;
  readonly parts: Parts;
  readonly outages: Outages;
  readonly longSteps: LongSteps;
  /** Throws if the worker may not begin. */
  check(worker: Worker, duties: readonly Duty[]): Promise<void>;
}

export function makeWorker(tools: WorkerTools, options: WorkerOptions): Worker {
  const { database, clock, owner, engine, parts, outages, longSteps } = tools;
  const worker: Worker = new Worker(
    {
      duties: () => [engine.pool, ...dutiesOf(parts)],
      clock,
      watch: (operation) => outages.watch(operation),
      owner,
      check: (duties) => tools.check(worker, duties),
      readiness: database && new Readiness(database),
      presence: database && new Presence(database, owner),
      look: database && ((loops, loopTools) => new Look(database, loops, loopTools)),
      nextDueMs: database && (() => nextDueMs(retrying(database))),
      warnOfLongSteps: (workMs) => longSteps.warn(workMs),
      listen:
        database?.listen &&
        ((onNotice, onHearing) => database.listen?.(onNotice, onHearing) ?? (() => undefined)),
    },
    options,
  );
  return worker;
}

export function refuseSecond(worker: Worker, workers: Iterable<Worker>): void {
  if (![...workers].some((other) => other !== worker && other.running)) return;
  throw new AmendsError(
    "NOT_ALLOWED_NOW",
    "This Amends already has a running worker; one worker runs everything that is registered.",
  );
}
