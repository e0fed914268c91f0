/**
 * Roles for webhook delivery and for retention with least privilege. The orchestrator reads no payload and no
 * secret, writes no lease, and changes neither events nor subscriptions; the sender touches jobs and attempts only;
 * a subscription is disabled by the administrator; only retention deletes. None of them can log in: grant them to
 * the users that do. They are named after the schema, because roles belong to the whole server.
 */
import { together, type Grants, type Rights, type Role } from "../postgres/rights/rights.ts";

/** Every role reads which migrations were applied: a worker refuses a schema that it does not fit. */
const SCHEMA: Grants = { migrations: { select: true } };

/** Every worker records that it runs, and what the database refuses to record. */
const WORKER: Grants = {
  ...SCHEMA,
  workers: { select: true, insert: true, update: true },
  refused_writes: { select: true, insert: true, update: true },
};

/** An event without its payload. */
const EVENT: Rights = { select: ["id", "event_key", "type", "attributes", "created_at"] };

/** The subscription columns that routing needs: neither the URL nor the secrets. */
const PLAN: readonly string[] = [
  "id",
  "status",
  "events",
  "filter",
  "attempt_max",
  "concurrency",
  "interval_ms",
  "timeout_ms",
  "ordered",
];

/** The subscription columns that operators see: all but the secrets. */
export const VIEW: readonly string[] = [
  ...PLAN,
  "subscription_key",
  "url",
  "description",
  "reason",
  "secret_ends",
  "created_at",
  "updated_at",
];

/** The columns of a new delivery, without the state, which has a default. */
const NEW_DELIVERY: readonly string[] = [
  "event_id",
  "subscription_id",
  "next_attempt_at",
  "created_at",
  "updated_at",
];
const DELIVERY_ANEW: readonly string[] = [...NEW_DELIVERY, "generation", "requeued_from"];

const NEW_EVENT: readonly string[] = [
  "event_key",
  "type",
  "attributes",
  "payload",
  "created_at",
  "traceparent",
];

/** Rights to route an event to matching subscriptions. */
const ROUTING: Grants = {
  webhook_subscription_types: { select: true },
  webhook_subscription_filters: { select: true },
};

/** Rights to record operator actions. */
const ON_RECORD: Grants = { operator_actions: { select: ["id", "outcome"], insert: true } };

export const PUBLISHER: Role = {
  name: "webhook_publisher",
  grants: {
    ...SCHEMA,
    ...ROUTING,
    // A repeated id must be the same event, so the existing one is read and compared.
    webhook_events: { select: true, insert: NEW_EVENT },
    webhook_delivery_sagas: { insert: NEW_DELIVERY },
    webhook_subscriptions: { select: ["id", "status"] },
  },
};

export const ORCHESTRATOR: Role = {
  name: "webhook_orchestrator",
  grants: {
    ...WORKER,
    ...ROUTING,
    webhook_delivery_sagas: { select: true, insert: true, update: true },
    webhook_jobs: {
      select: [
        "id",
        "saga_id",
        "event_id",
        "subscription_id",
        "attempt",
        "status",
        "report",
        "result",
        "created_at",
        "finished_at",
      ],
      insert: ["saga_id", "event_id", "subscription_id", "attempt", "created_at", "next_attempt_at"],
      update: ["result"],
    },
    webhook_lanes: { select: true, insert: true, update: true },
    webhook_turn: { select: true, update: true },
    webhook_events: EVENT,
    webhook_subscriptions: { select: PLAN },
    // A delivery and its dead letter are one transaction.
    dead_letters: {
      select: ["saga_id"],
      insert: ["saga_id", "event_id", "subscription_id", "error_code", "attempt_count", "created_at"],
    },
  },
};

export const SENDER: Role = {
  name: "webhook_sender",
  grants: {
    ...WORKER,
    webhook_jobs: {
      select: true,
      update: [
        "status",
        "attempts",
        "token",
        "owner",
        "next_attempt_at",
        "last_attempt_at",
        "report",
        "result",
        "finished_at",
      ],
    },
    webhook_attempts: { select: true, insert: true },
    webhook_targets: { select: true },
    webhook_payloads: { select: true },
    webhook_paused: { select: true },
  },
};

export const ADMINISTRATOR: Role = {
  name: "webhook_administrator",
  grants: {
    ...WORKER,
    ...ROUTING,
    webhook_lanes: { select: ["subscription_id", "disable_reason"], update: ["disable_reason"] },
    webhook_subscriptions: {
      select: ["id", "status", "updated_at"],
      update: ["status", "reason", "updated_at"],
    },
    // The notice that a subscription was disabled.
    webhook_events: { select: ["id", "event_key"], insert: NEW_EVENT },
    webhook_delivery_sagas: { insert: NEW_DELIVERY },
  },
};

export const SUBSCRIPTIONS: Role = {
  name: "webhook_subscriptions",
  grants: {
    ...SCHEMA,
    ...ON_RECORD,
    webhook_subscriptions: { select: true, insert: true, update: true },
    webhook_subscription_types: { select: true, insert: true, delete: true },
    webhook_subscription_filters: { select: true, insert: true, delete: true },
    webhook_lanes: { select: true, update: ["failing_since", "failures", "disable_reason"] },
    // `ping` sends an event to one subscription.
    webhook_events: { ...EVENT, insert: NEW_EVENT },
    webhook_delivery_sagas: { select: true, insert: DELIVERY_ANEW },
  },
};

export const DEAD_LETTERS: Role = {
  name: "webhook_dead_letters",
  grants: {
    ...SCHEMA,
    ...ON_RECORD,
    dead_letters: { select: true, update: ["status", "settled_at", "reason", "settled_by"] },
    webhook_delivery_sagas: { select: true, insert: DELIVERY_ANEW },
    webhook_events: EVENT,
    webhook_subscriptions: { select: VIEW },
    webhook_lanes: { select: true },
  },
};

export const RETENTION: Role = {
  name: "webhook_retention",
  grants: {
    ...SCHEMA,
    webhook_delivery_sagas: { select: true, delete: true },
    webhook_jobs: { select: true, delete: true },
    webhook_attempts: { select: true, delete: true },
    dead_letters: { select: true, delete: true },
    webhook_events: { select: true, delete: true },
  },
};

export const READER: Role = {
  name: "webhook_reader",
  grants: {
    ...SCHEMA,
    refused_writes: { select: true },
    webhook_delivery_sagas: { select: true },
    webhook_jobs: { select: true },
    webhook_attempts: { select: true },
    webhook_lanes: { select: true },
    dead_letters: { select: true },
    webhook_events: { select: true },
    webhook_subscriptions: { select: VIEW },
  },
};

/**
 * For a process that runs all of delivery: it inserts jobs as leased, sends them, applies their results and
 * disables subscriptions.
 */
export const DELIVERY: Role = {
  name: "webhook_delivery",
  grants: together(ORCHESTRATOR.grants, SENDER.grants, ADMINISTRATOR.grants, {
    webhook_jobs: { select: true, insert: true, update: true },
  }),
};

export const WEBHOOK_ROLES: readonly Role[] = [
  PUBLISHER,
  ORCHESTRATOR,
  SENDER,
  ADMINISTRATOR,
  SUBSCRIPTIONS,
  DEAD_LETTERS,
  RETENTION,
  READER,
  DELIVERY,
];

/** For the whole retention policy: ended rows of all parts, and the archive. */
export const RETENTION_ROLE: Role = {
  name: "retention",
  grants: {
    ...SCHEMA,
    saga_executions: { select: true, delete: true },
    saga_attributes: { select: true, delete: true },
    saga_logs: { select: true, delete: true },
    saga_signals: { select: true, delete: true },
    saga_archive: { select: true, insert: true, delete: true },
    saga_state: { select: true, delete: true },
    outbox: { select: true, delete: true },
    bulk_actions: { select: true, delete: true },
    webhook_delivery_sagas: { select: true, delete: true },
    webhook_jobs: { select: true, delete: true },
    webhook_attempts: { select: true, delete: true },
    dead_letters: { select: true, delete: true },
    webhook_events: { select: true, delete: true },
  },
};
