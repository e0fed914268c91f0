/**
 * Webhook delivery. `webhook_delivery_sagas` has the columns, labels and indexes of its source; a job is one try of
 * a delivery, an attempt records one request. There are no foreign keys: they would lock the event's and the
 * subscription's row for every delivery. The statements check these references themselves.
 */
import { DISABLE_REASONS, VERDICTS } from "../../../core/delivery/job.ts";
import {
  ACTIVE,
  deadLetterMachine,
  deliveryMachine,
  jobMachine,
  OPEN,
  subscriptionMachine,
  WAITING,
} from "../../../core/delivery/machine.ts";
import { initially, isState, oneOf, type Ddl } from "../ddl.ts";

export function webhooks(ddl: Ddl): string[] {
  return [
    ...events(ddl),
    ...subscriptions(ddl),
    ...deliveries(ddl),
    ...jobs(ddl),
    ...attempts(ddl),
    ...deadLetters(ddl),
    ...views(ddl),
  ];
}

function events({ serial, id, instant, table, index, uniqueIndex, end, refuse }: Ddl): string[] {
  const name = table("webhook_events");
  return [
    `create table ${name} (
      id ${serial},
      event_key ${id} not null,
      type text not null,
      attributes text not null,
      payload text not null,
      created_at ${instant} not null,
      traceparent text
    ${end()}`,
    uniqueIndex("webhook_events_key", `${name} (event_key)`),
    index("webhook_events_created", `${name} (created_at, id)`),
    ...refuse({
      name: "webhook_events_immutable",
      table: "webhook_events",
      on: "update",
      message: "amends: an event that was published never changes",
    }),
  ];
}

/** Patterns and filters have their own rows, so that routing looks subscriptions up instead of testing each one. */
function subscriptions(ddl: Ddl): string[] {
  const { serial, bigint, id, instant, bool, no, table, index, uniqueIndex, end, refuse } = ddl;
  const name = table("webhook_subscriptions");
  return [
    `create table ${name} (
      id ${serial},
      subscription_key ${id},
      url text not null,
      description text,
      status text not null check (${oneOf("status", subscriptionMachine.states)}),
      reason text,
      events text not null,
      filter text not null,
      secrets text not null,
      secret_ends text not null default '[]',
      attempt_max integer check (attempt_max >= 1),
      concurrency integer not null check (concurrency >= 1),
      interval_ms integer not null default 0 check (interval_ms >= 0),
      timeout_ms integer,
      ordered ${bool} not null default ${no},
      created_at ${instant} not null,
      updated_at ${instant} not null
    ${end()}`,
    uniqueIndex("webhook_subscriptions_key", `${name} (subscription_key) where subscription_key is not null`),
    index(
      "webhook_subscriptions_disabled",
      `${name} (updated_at, id) where ${isState("status", subscriptionMachine, "Disabled")}`,
    ),
    `create table ${table("webhook_subscription_types")} (
      subscription_id ${bigint} not null, pattern ${id} not null, primary key (pattern, subscription_id)
    ${end()}`,
    index("webhook_subscription_types_of", `${table("webhook_subscription_types")} (subscription_id)`),
    `create table ${table("webhook_subscription_filters")} (
      subscription_id ${bigint} not null, attribute ${id} not null, value ${id} not null,
      primary key (subscription_id, attribute, value)
    ${end()}`,
    ...refuse({
      name: "webhook_subscriptions_deleted",
      table: "webhook_subscriptions",
      on: "update",
      when: oneOf("old.status", subscriptionMachine.terminal),
      message: "amends: a subscription that was deleted never changes",
    }),
  ];
}

function deliveries(ddl: Ddl): string[] {
  const { serial, bigint, instant, table, index, uniqueIndex, end, refuse, pick } = ddl;
  const name = table("webhook_delivery_sagas");
  const code = pick({ postgres: "varchar(100)", sqlite: "text" });
  const lanes = table("webhook_lanes");
  return [
    `create table ${name} (
      id ${serial},
      event_id ${bigint} not null,
      subscription_id ${bigint} not null,
      status text not null default 'Pending' check (${oneOf("status", deliveryMachine.states)}),
      attempt_count integer not null default 0 check (attempt_count >= 0),
      next_attempt_at ${instant},
      final_error_code ${code},
      generation integer not null default 0,
      requeued_from ${bigint},
      attempt_max integer,
      created_at ${instant} not null,
      updated_at ${instant} not null
    ${end("changing")}`,
    index("idx_saga_event", `${name} (event_id, subscription_id)`),
    index("idx_saga_status_retry", `${name} (status, next_attempt_at)`),
    index("idx_saga_status", `${name} (status, id)`),
    uniqueIndex("uniq_saga_event_subscription", `${name} (event_id, subscription_id, generation)`),
    // The empty text keeps planners from reading all of this small index where (status, next_attempt_at) is meant.
    uniqueIndex(
      "uniq_saga_open",
      `${name} (event_id, subscription_id) where ${oneOf("('' || status)", OPEN)}`,
    ),
    uniqueIndex("uniq_saga_requeued_from", `${name} (requeued_from) where requeued_from is not null`),
    index(
      "idx_saga_lane",
      `${name} (subscription_id, next_attempt_at, id) where ${oneOf("status", WAITING)}`,
    ),
    index("idx_saga_order", `${name} (subscription_id, event_id, id) where ${oneOf("status", WAITING)}`),
    index("idx_saga_subscription", `${name} (subscription_id, id)`),
    index("idx_saga_ended", `${name} (updated_at, id) where ${oneOf("status", deliveryMachine.terminal)}`),
    ...refuse({
      name: "webhook_delivery_sagas_terminal",
      table: "webhook_delivery_sagas",
      on: "update",
      when: oneOf("old.status", deliveryMachine.terminal),
      message: "amends: a delivery that has ended never changes",
    }),
    ...refuse({
      name: "webhook_delivery_sagas_open",
      table: "webhook_delivery_sagas",
      on: "delete",
      when: oneOf("old.status", OPEN),
      message: "amends: a delivery that has not ended cannot be deleted",
    }),
    // The orchestrator's state of each subscription: its rate, its health, and whether it gets disabled.
    `create table ${lanes} (
      subscription_id ${bigint} primary key,
      next_due_at ${instant},
      failing_since ${instant},
      failures integer not null default 0,
      disable_reason text check (${oneOf("disable_reason", DISABLE_REASONS)})
    ${end()}`,
    index("webhook_lanes_to_disable", `${lanes} (subscription_id) where disable_reason is not null`),
    // One row: the orchestrator that locks it may create jobs.
    `create table ${table("webhook_turn")} (id integer primary key check (id = 1)${end()}`,
    `insert into ${table("webhook_turn")} (id) values (1)`,
  ];
}

function jobs(ddl: Ddl): string[] {
  const { serial, bigint, uuid, instant, gate, table, index, uniqueIndex, end, refuse } = ddl;
  const name = table("webhook_jobs");
  const active = oneOf("status", ACTIVE);
  return [
    `create table ${name} (
      id ${serial},
      saga_id ${bigint} not null,
      event_id ${bigint} not null,
      subscription_id ${bigint} not null,
      attempt integer not null check (attempt >= 1),
      status text not null ${initially(jobMachine)} check (${oneOf("status", jobMachine.states)}),
      attempts integer not null default 0,
      token ${bigint} not null default 0,
      owner text,
      next_attempt_at ${instant},
      last_attempt_at ${instant},
      report ${uuid},
      result text,
      created_at ${instant} not null,
      finished_at ${instant},
      check ((finished_at is null) = (${active})),
      check (result is null or finished_at is not null)
    ${end("changing")}`,
    index("webhook_jobs_due", `${name} (${gate("next_attempt_at")}, id) where ${active}`),
    // The same rows under different conditions, so that planners do not confuse these indexes.
    uniqueIndex("webhook_jobs_active", `${name} (saga_id) where ${oneOf("('' || status)", ACTIVE)}`),
    index("webhook_jobs_lane", `${name} (subscription_id) where finished_at is null`),
    uniqueIndex("webhook_jobs_attempt", `${name} (saga_id, attempt)`),
    index("webhook_jobs_result", `${name} (id) where result is not null`),
    ...refuse({
      name: "webhook_jobs_terminal",
      table: "webhook_jobs",
      on: "update",
      // A job that has ended loses its result once the orchestrator has applied it, and nothing else.
      when: `${oneOf("old.status", jobMachine.terminal)}
        and (old.result is null or new.result is not null or new.status <> old.status or new.report <> old.report)`,
      message: "amends: a job that has ended never changes",
    }),
  ];
}

function attempts(ddl: Ddl): string[] {
  const { serial, bigint, uuid, instant, bool, table, index, uniqueIndex, end, refuse } = ddl;
  const name = table("webhook_attempts");
  return [
    `create table ${name} (
      id ${serial},
      report ${uuid} not null,
      job_id ${bigint} not null,
      saga_id ${bigint} not null,
      token ${bigint} not null,
      verdict text not null check (${oneOf("verdict", VERDICTS)}),
      ok ${bool} not null,
      code text not null,
      url text,
      sent_at ${instant},
      status integer,
      duration_ms integer not null,
      response_headers text,
      response_body text,
      created_at ${instant} not null
    ${end()}`,
    uniqueIndex("webhook_attempts_report", `${name} (report)`),
    index("webhook_attempts_saga", `${name} (saga_id, id)`),
    ...refuse({
      name: "webhook_attempts_append_only",
      table: "webhook_attempts",
      on: "update",
      message: "amends: attempts are only ever added to",
    }),
  ];
}

function deadLetters(ddl: Ddl): string[] {
  const { serial, bigint, instant, table, index, uniqueIndex, end, refuse } = ddl;
  const name = table("dead_letters");
  const open = isState("status", deadLetterMachine, deadLetterMachine.initial);
  return [
    `create table ${name} (
      id ${serial},
      saga_id ${bigint} not null,
      event_id ${bigint} not null,
      subscription_id ${bigint} not null,
      status text not null ${initially(deadLetterMachine)} check (${oneOf("status", deadLetterMachine.states)}),
      error_code text not null,
      attempt_count integer not null,
      created_at ${instant} not null,
      settled_at ${instant},
      reason text,
      settled_by text
    ${end()}`,
    uniqueIndex("dead_letters_saga", `${name} (saga_id)`),
    index("dead_letters_open", `${name} (created_at, id) where ${open}`),
    index("dead_letters_subscription", `${name} (subscription_id, id) where ${open}`),
    ...refuse({
      name: "dead_letters_terminal",
      table: "dead_letters",
      on: "update",
      when: oneOf("old.status", deadLetterMachine.terminal),
      message: "amends: a dead letter that was settled never changes",
    }),
  ];
}

/** The sender's view of targets, so that it needs rights only on jobs and attempts. */
function views({ table }: Ddl): string[] {
  return [
    `create view ${table("webhook_targets")} as
      select j.id as job_id, p.id as subscription_id, p.status, p.url, p.secrets, p.timeout_ms, p.attempt_max
      from ${table("webhook_jobs")} as j
      join ${table("webhook_subscriptions")} as p on p.id = j.subscription_id`,
    // Nothing is sent to these subscriptions: an operator paused them, or they are about to be disabled.
    `create view ${table("webhook_paused")} as
      select id as subscription_id from ${table("webhook_subscriptions")} where ${isState("status", subscriptionMachine, "Paused")}
      union all
      select subscription_id from ${table("webhook_lanes")} where disable_reason is not null`,
    `create view ${table("webhook_payloads")} as
      select id as event_id, event_key, type, payload, traceparent from ${table("webhook_events")}`,
  ];
}
