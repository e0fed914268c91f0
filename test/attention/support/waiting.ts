/** Rows that need a person, of every kind, written as their parts leave them. */
import { randomUUID } from "node:crypto";
import type { AttentionKind } from "amends/attention";
import type { Database } from "../../../src/storage/database.ts";
import { sql, type Sql } from "../../../src/storage/sql.ts";

/** Adds one item of this kind that has waited since this instant. Returns its id. */
export async function add(db: Database, kind: AttentionKind, sinceMs: number, name: string): Promise<string> {
  const { dialect } = db;
  const table = (of: string): Sql => dialect.table(of);
  const at = dialect.instantOf(sinceMs);
  const insert = async (statement: Sql): Promise<string> =>
    String(Object.values((await db.query(statement))[0] ?? {})[0]);
  const entry = (of: string, status: string, subject: string | null): Promise<string> => {
    const id = randomUUID();
    const isEvent = of === "event" || of === "delivery";
    return insert(sql`insert into ${table("outbox")}
        (entry_id, kind, lane, name, subject_id, operation, ref_kind, event_id, event_version, handler, payload, status, attempts, enqueued_at, last_error)
      values (${id}, ${of}, ${of === "call" ? name : of === "delivery" ? "H@1" : ""}, ${name}, ${subject}, ${subject && "erase"}, ${subject && "crm"}, ${isEvent ? id : null},
        ${isEvent ? 1 : null}, ${of === "delivery" ? "H" : null}, ${isEvent ? "{}" : null}, ${status}, 1, ${at}, 'Down')
      returning entry_id`);
  };
  switch (kind) {
    case "stalled-saga":
      return insert(sql`insert into ${table("saga_executions")}
          (id, name, kind, status, context, plan, version, token, created_at, updated_at)
        values (${name}, 'order', 'order@1#', 'STALLED', '{"input":{}}', 'one~ two', 1, 1, ${at}, ${at}) returning id`);
    case "failing-saga":
      await insert(sql`insert into ${table("saga_executions")}
          (id, name, kind, status, context, plan, version, token, failing_at, next_attempt_at, created_at, updated_at)
        values (${name}, 'paying', 'paying@1#', 'RUNNING', '{"input":{}}', 'one! two', 1, 1, ${at}, ${dialect.now()}, ${dialect.now()}, ${dialect.now()}) returning id`);
      return name;
    case "excluded-saga":
      await insert(sql`insert into ${table("saga_executions")}
          (id, name, kind, status, context, plan, version, token, recovery_attempts, excluded_at, created_at, updated_at)
        values (${name}, 'order', 'order@1#', 'RUNNING', '{"input":{}}', 'one', 1, 1, 5, ${at}, ${dialect.now()}, ${dialect.now()}) returning id`);
      return name;
    case "lost-saga":
      await db.query(sql`insert into ${table("saga_logs")} (saga_id, id, step_name, action, status, created_at)
        values (${name}, 2, 'charge', 'act', 'COMPLETED', ${at})`);
      return insert(
        sql`insert into ${table("lost_sagas")} (saga_id, found_at) values (${name}, ${at}) returning saga_id`,
      );
    case "stalled-run":
      return insert(sql`insert into ${table("saga_state")}
          (saga_id, saga_type, process_id, status, trigger_id, trail, started_at, updated_at, rested_at)
        values (${name}, 'flow', ${name}, 'stalled', ${randomUUID()}, '', ${at}, ${at}, ${at}) returning saga_id`);
    case "abandoned-entry":
      return entry("erasure", "abandoned", name);
    case "abandoned-call":
      return entry("call", "abandoned", null);
    case "abandoned-event":
      return entry(name.endsWith("1") ? "event" : "delivery", "abandoned", null);
    case "dead-letter":
      return deadLetter(db, at, name);
    case "disabled-subscription":
      return insert(sql`insert into ${table("webhook_subscriptions")}
          (url, status, reason, events, filter, secrets, concurrency, created_at, updated_at)
        values (${`https://${name}.example/hook?key=secret`}, 'Disabled', 'gone', '[]', '{}', '[]', 1, ${at}, ${at}) returning id`);
    case "unserved-kind":
      await insert(sql`insert into ${table("saga_executions")}
          (id, name, kind, status, context, plan, version, token, next_attempt_at, created_at, updated_at)
        values (${`of-${name}`}, ${name}, ${`${name}@1#`}, 'RUNNING', '{"input":{}}', 'one', 1, 1, ${at}, ${at}, ${at}) returning id`);
      return `${name}@1#`;
    case "unserved-handler":
      await insert(sql`insert into ${table("event_handlers")}
          (event, handler, kind, version, recipient, hash, registered_at, seen_at)
        values ('Placed', ${name}, 'consumer', 1, ${name}, 1, ${at}, ${at}) returning handler`);
      await insert(sql`insert into ${table("outbox")} (entry_id, kind, name, event_id, event_version, handler, lane, enqueued_at)
        values (${randomUUID()}, 'delivery', 'Placed', ${randomUUID()}, 1, ${name}, ${`${name}@1`}, ${at}) returning entry_id`);
      return name;
    case "overdue-schedule":
      return insert(sql`insert into ${table("schedules")} (name, cron, timezone, saga, version, lane, input, overlap, missed,
          jitter_ms, token, tick_at, next_at, created_at, updated_at)
        values (${name}, '0 3 * * *', 'UTC', 'invoice', 1, 'invoice@1', '{}', 'skip', 'one', 0, 1, ${at}, ${at}, ${at}, ${at})
        returning name`);
    case "refused-write":
      await db.query(sql`insert into ${table("refused_writes")}
          (id, operation, code, state, said, advice, waiting, since, seen_at)
        values (${`${name}:DATABASE_FORBIDDEN`}, ${name}, 'DATABASE_FORBIDDEN', '42501', 'denied', 'grant it', 1, ${at}, ${dialect.now()})`);
      return `${name}:DATABASE_FORBIDDEN`;
    default:
      // It is overdue a month after it was asked for.
      await db.query(sql`insert into ${table("subjects")} (subject_id, erasures, failing_since)
        values (${name}, 1, ${dialect.instantOf(monthBefore(sinceMs))})`);
      return name;
  }
}

async function deadLetter(db: Database, at: Sql, name: string): Promise<string> {
  const { dialect } = db;
  const [event] = await db.query(sql`insert into ${dialect.table("webhook_events")}
      (event_key, type, attributes, payload, created_at)
    values (${name}, 'order.placed', '{}', '{}', ${at}) returning id`);
  const [delivery] = await db.query(sql`insert into ${dialect.table("webhook_delivery_sagas")}
      (event_id, subscription_id, status, attempt_count, created_at, updated_at)
    values (${event?.["id"]}, 1, 'DeadLettered', 1, ${at}, ${at}) returning id`);
  await db.query(sql`insert into ${dialect.table("dead_letters")}
      (saga_id, event_id, subscription_id, error_code, attempt_count, created_at)
    values (${delivery?.["id"]}, ${event?.["id"]}, 1, 'http_500', 1, ${at})`);
  return String(delivery?.["id"]);
}

function monthBefore(ms: number): number {
  const date = new Date(ms);
  return date.setUTCMonth(date.getUTCMonth() - 1);
}
