/** What every part gets from the Amends that it belongs to. */
import { checkLease } from "../core/backoff.ts";
import { positiveMs } from "../core/duration.ts";
import type { PartContext } from "../runtime/part.ts";
import { newId } from "../runtime/identifiers.ts";
import { untraced } from "../runtime/trace.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import type { DatabaseOptions, StorageOptions } from "./amends-options.ts";
import { newOwner } from "./identifiers.ts";
import type { Logger } from "./log/logger.ts";
import type { Notices } from "./log/notices.ts";
import type { Outages } from "./log/outages.ts";
import { noDatabase } from "./parts.ts";
import { RefusalReports } from "./log/refusal-reports.ts";
import type { Worker } from "./worker.ts";

export interface ContextTools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly notices: Notices;
  readonly outages: Outages;
  readonly closing: AbortSignal;
  readonly workers: ReadonlySet<Worker>;
}

export function makeContext<Tx, Category extends string>(
  options: DatabaseOptions<Tx, Category> | StorageOptions,
  { clock, logger, notices, outages, closing, workers }: ContextTools,
): PartContext<Tx> {
  const { database } = options;
  const owner = newOwner();
  const reports = new RefusalReports({ database, logger, owner });
  return {
    get database(): Database<Tx> {
      if (!database) throw noDatabase();
      return database;
    },
    clock,
    owner,
    leaseMs: checkLease(positiveMs(options.lease ?? "60s", "lease"), "lease"),
    graceMs: positiveMs(options.grace ?? "10s", "grace"),
    errorCodes: new Set(options.errorCodes),
    keepMessages: options.keepMessages === true,
    tracer: options.tracing ?? untraced,
    closing,
    newId,
    workerHealth: () => [...workers].find((worker) => worker.running)?.health,
    watch: (operation) => outages.watch(operation),
    onRefused: (operation, refused) => reports.report(operation, refused),
    onBug: (error) => notices.bug(error),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}
