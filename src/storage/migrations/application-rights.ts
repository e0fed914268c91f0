/**
 * The rights on Amends' tables that an application's login needs, as docs/guides/postgres.md grants them. A worker checks
 * those of its sagas before it begins: a right that is missing at a checkpoint would stop every saga that needs it.
 */
import type { Database } from "../database.ts";
import { checkRights, type Role } from "../postgres/rights.ts";

/** For a worker that runs sagas. */
export const SAGA_RIGHTS: Role = {
  name: "sagas",
  grants: {
    migrations: { select: true },
    saga_executions: { select: true, insert: true, update: true },
    saga_kinds: { select: true, insert: true, update: true },
    saga_logs: { select: true, insert: true },
    saga_log_scan: { select: true, insert: true, update: true },
    lost_sagas: { select: true, insert: true },
    saga_signals: { select: true, insert: true },
    saga_interests: { select: true, insert: true, delete: true },
    outbox: { select: true, insert: true },
    refused_writes: { select: true, insert: true, update: true },
  },
};

/** For a process that runs every part but retention. */
export const APPLICATION_RIGHTS: Role = {
  name: "application",
  grants: {
    ...SAGA_RIGHTS.grants,
    outbox: { select: true, insert: true, update: true },
    saga_state: { select: true, insert: true, update: true },
    subjects: { select: true, insert: true, update: true },
    audit_events: { select: true, insert: true },
    audit_head: { select: true, insert: true, update: true },
    operator_actions: { select: true, insert: true },
    workers: { select: true, insert: true, update: true },
    webhook_events: { select: true, insert: true },
    webhook_subscriptions: { select: true, insert: true, update: true },
    webhook_subscription_types: { select: true, insert: true, delete: true },
    webhook_subscription_filters: { select: true, insert: true, delete: true },
    webhook_delivery_sagas: { select: true, insert: true, update: true },
    webhook_lanes: { select: true, insert: true, update: true },
    webhook_jobs: { select: true, insert: true, update: true },
    webhook_attempts: { select: true, insert: true },
    dead_letters: { select: true, insert: true, update: true },
  },
};

/** Throws if the login may not run sagas. */
export function checkSagaRights(db: Database): Promise<void> {
  return checkRights(db, SAGA_RIGHTS, "sagas", () => "docs/guides/postgres.md has the grants.");
}
