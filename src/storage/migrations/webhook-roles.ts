/**
 * Roles for webhook delivery and for retention, each with what its part needs and no more: the orchestrator reads no payload and no secret,
 * the worker touches jobs and attempts only, dead letters belong to their own part, and only retention deletes. They
 * cannot log in: grant them to the users that do. They are named after the schema, as roles belong to the whole server.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Session } from "../database.ts";
import { raw } from "../sql.ts";

const SUBSCRIPTION = "id, status, events, filter, attempt_max, concurrency, interval_ms, timeout_ms, ordered";
const EVENT = "id, event_key, type, attributes, created_at";

interface Role {
  readonly name: string;
  /** Rights by table. */
  readonly grants: Readonly<Record<string, string>>;
}

export const WEBHOOK_ROLES: readonly Role[] = [
  {
    name: "webhook_orchestrator",
    grants: {
      webhook_delivery_sagas: "select, insert, update",
      webhook_jobs: "select, insert",
      webhook_lanes: "select, insert, update",
      webhook_turn: "select, update",
      webhook_events: `select (${EVENT})`,
      webhook_subscriptions: `select (${SUBSCRIPTION})`,
      webhook_subscription_types: "select",
      webhook_subscription_filters: "select",
    },
  },
  {
    name: "webhook_worker",
    grants: {
      webhook_jobs: "select, update",
      webhook_attempts: "select, insert",
      webhook_targets: "select",
      webhook_payloads: "select",
      webhook_paused: "select",
    },
  },
  {
    name: "webhook_dead_letters",
    grants: {
      dead_letters: "select, insert, update",
      webhook_delivery_sagas: "select",
      webhook_events: `select (${EVENT})`,
    },
  },
  {
    name: "webhook_retention",
    grants: {
      webhook_delivery_sagas: "select, delete",
      webhook_jobs: "select, delete",
      webhook_attempts: "select, delete",
      dead_letters: "select, delete",
      webhook_events: "select, delete",
    },
  },
  {
    name: "webhook_reader",
    grants: {
      webhook_delivery_sagas: "select",
      webhook_jobs: "select",
      webhook_attempts: "select",
      webhook_lanes: "select",
      dead_letters: "select",
      webhook_events: "select",
      webhook_subscriptions: `select (${SUBSCRIPTION}, url, description, reason, created_at, updated_at)`,
    },
  },
];

/** For the policy of retention as a whole: what has ended, of all parts, and the archive. */
const RETENTION: Role = {
  name: "retention",
  grants: {
    saga_executions: "select, delete",
    saga_logs: "select, delete",
    saga_signals: "select, delete",
    saga_archive: "select, insert, delete",
    saga_state: "select, delete",
    outbox: "select, delete",
    webhook_delivery_sagas: "select, delete",
    webhook_jobs: "select, delete",
    webhook_attempts: "select, delete",
    dead_letters: "select, delete",
    webhook_events: "select, delete",
  },
};

export async function grantRoles(session: Session): Promise<void> {
  const { dialect } = session;
  if (dialect.name !== "postgres") {
    throw new AmendsError("NOT_SUPPORTED", "SQLite has no roles: leave `roles` out.");
  }
  const schema = dialect.table("").text.replace(".", "");
  for (const { name, grants } of [...WEBHOOK_ROLES, RETENTION]) {
    const role = `${schema}_${name}`;
    // Another process, or another schema's migration, may create it at this very moment.
    await session.query(
      raw(
        `do $$ begin create role ${role} nologin; exception when duplicate_object or unique_violation then null; end $$`,
      ),
    );
    await session.query(raw(`grant usage on schema ${schema} to ${role}`));
    await session.query(raw(`grant execute on function ${dialect.table("refuse").text}() to ${role}`));
    for (const [table, rights] of Object.entries(grants))
      await session.query(raw(`grant ${rights} on ${dialect.table(table).text} to ${role}`));
  }
}
