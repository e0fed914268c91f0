/**
 * The rights on Amends' tables that each process of an application needs: one that starts and steers, a worker, a console,
 * and one that removes what is over. `migrate({ grants })` grants them, `amends migrate --print-grants` prints them.
 */
import { together, type Grants, type Rights, type Role } from "../postgres/rights/rights.ts";
import { DEAD_LETTERS, DELIVERY, RETENTION_ROLE, VIEW } from "./webhook-roles.ts";

const READ: Rights = { select: true };
const APPEND: Rights = { select: true, insert: true };
const CHANGE: Rights = { select: true, insert: true, update: true };
const REPLACE: Rights = { select: true, insert: true, delete: true };

/** Claims of work with limits by key. Locking the turn needs the right to update it. */
const LIMITS: Grants = {
  limit_turns: { select: true, update: true },
  limit_starts: { select: true, insert: true, update: true, delete: true },
};

/** For a worker that runs sagas. */
export const SAGA_RIGHTS: Role = {
  name: "sagas",
  grants: {
    migrations: READ,
    saga_executions: CHANGE,
    saga_attributes: CHANGE,
    saga_kinds: CHANGE,
    saga_logs: APPEND,
    saga_log_scan: CHANGE,
    lost_sagas: APPEND,
    saga_signals: APPEND,
    saga_interests: REPLACE,
    outbox: APPEND,
    pauses: READ,
    refused_writes: CHANGE,
    ...LIMITS,
  },
};

/** For a worker that starts the sagas of schedules. */
export const SCHEDULE_RIGHTS: Role = {
  name: "schedules",
  grants: together(SAGA_RIGHTS.grants, {
    schedules: { select: true, update: true },
    schedule_ticks: CHANGE,
  }),
};

/** For a worker that delivers events: they start and reach sagas. */
export const EVENT_RIGHTS: Role = {
  name: "events",
  grants: together(SAGA_RIGHTS.grants, { outbox: CHANGE, saga_state: CHANGE, event_handlers: CHANGE }),
};

/** For a worker that makes calls. */
export const CALL_RIGHTS: Role = {
  name: "calls",
  grants: { migrations: READ, outbox: CHANGE, pauses: READ, refused_writes: CHANGE, ...LIMITS },
};

/** For a worker that erases. */
export const ERASURE_RIGHTS: Role = {
  name: "erasure",
  grants: together(CALL_RIGHTS.grants, { subjects: CHANGE, audit_events: APPEND, audit_head: CHANGE }),
};

/** For a worker that carries out bulk actions: it does what operators do to sagas, entries and deliveries. */
export const BULK_RIGHTS: Role = {
  name: "bulk",
  grants: together(SAGA_RIGHTS.grants, ERASURE_RIGHTS.grants, DEAD_LETTERS.grants, {
    bulk_actions: { select: true, update: true },
    operator_actions: APPEND,
  }),
};

/** What the pages and lists of every part read. The secrets of subscriptions are not among it. */
const LISTED: readonly string[] = [
  "migrations",
  "saga_executions",
  "saga_attributes",
  "saga_kinds",
  "saga_logs",
  "saga_log_scan",
  "lost_sagas",
  "saga_signals",
  "saga_interests",
  "saga_history",
  "saga_archive",
  "schedules",
  "schedule_ticks",
  "saga_state",
  "event_handlers",
  "outbox",
  "subjects",
  "audit_events",
  "audit_head",
  "operator_actions",
  "bulk_actions",
  "limit_starts",
  "pauses",
  "workers",
  "refused_writes",
  "webhook_events",
  "webhook_subscription_types",
  "webhook_subscription_filters",
  "webhook_delivery_sagas",
  "webhook_lanes",
  "webhook_jobs",
  "webhook_attempts",
  "dead_letters",
];

const LISTS: Grants = Object.fromEntries(LISTED.map((table) => [table, READ]));

/** What an operator's action on any part writes, in code and in the console. */
const OPERATORS: Grants = {
  saga_executions: { update: true },
  saga_attributes: { update: true },
  saga_logs: { insert: true },
  saga_interests: { delete: true },
  schedules: { update: true, delete: true },
  schedule_ticks: { delete: true },
  saga_state: { update: true },
  event_handlers: { update: true },
  outbox: { insert: true, update: true },
  operator_actions: { insert: true },
  pauses: { insert: true, delete: true },
  bulk_actions: { insert: true, update: true },
  subjects: { update: true },
  audit_events: { insert: true },
  audit_head: { insert: true, update: true },
  webhook_subscriptions: { select: VIEW, update: ["status", "reason", "updated_at"] },
  webhook_lanes: { update: true },
  webhook_events: { insert: true },
  webhook_delivery_sagas: { insert: true },
  dead_letters: { update: true },
};

/** For a process that starts, publishes, enqueues, subscribes, erases and steers, and runs no worker. */
export const APP: Role = {
  name: "app",
  grants: together(LISTS, OPERATORS, {
    saga_executions: { insert: true },
    saga_attributes: { insert: true },
    saga_kinds: { insert: true, update: true },
    saga_signals: { insert: true },
    saga_interests: { insert: true },
    schedules: { insert: true },
    subjects: { insert: true },
    webhook_subscriptions: CHANGE,
    webhook_subscription_types: REPLACE,
    webhook_subscription_filters: REPLACE,
  }),
};

/** For a worker of every part but retention. */
export const WORKER: Role = {
  name: "worker",
  grants: together(
    EVENT_RIGHTS.grants,
    SCHEDULE_RIGHTS.grants,
    ERASURE_RIGHTS.grants,
    DELIVERY.grants,
    BULK_RIGHTS.grants,
    {
      workers: CHANGE,
    },
  ),
};

/** For a console, and for operators: nothing is started or erased with it. */
export const CONSOLE: Role = { name: "console", grants: together(LISTS, OPERATORS) };

/** For a process that removes what is over. */
export const RETENTION: Role = {
  name: "retention",
  grants: together(RETENTION_ROLE.grants, { saga_kinds: READ, workers: CHANGE, refused_writes: CHANGE }),
};

/** The processes of an application, by the names that `migrate({ grants })` takes. */
export type ProcessName = "app" | "worker" | "console" | "retention";

export const PROCESSES: Readonly<Record<ProcessName, Role>> = {
  app: APP,
  worker: WORKER,
  console: CONSOLE,
  retention: RETENTION,
};

/** For a process that runs every part but retention. */
export const APPLICATION_RIGHTS: Role = {
  name: "application",
  grants: together(APP.grants, WORKER.grants, CONSOLE.grants),
};
