import { expect, it } from "vitest";
import { deliveryMachine } from "../../src/core/delivery/machine.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";

async function insertDelivery(db: Database, values: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const row = { event_id: 1, subscription_id: 1, status: "Pending", generation: 0, ...values };
  const names = Object.keys(row);
  const now = db.dialect.now();
  const given = Object.values(row).map((value) => sql`${value}`);
  const [made] = await db.query(sql`insert into ${db.dialect.table("webhook_delivery_sagas")}
    (${raw(names.join(", "))}, created_at, updated_at)
    values (${given.reduce((all, next) => sql`${all}, ${next}`)}, ${now}, ${now}) returning id`);
  return String(made?.["id"]);
}

async function insertJob(db: Database, saga: number, attempt: number, status: string): Promise<void> {
  await db.query(sql`insert into ${db.dialect.table("webhook_jobs")} (saga_id, event_id, subscription_id, attempt, status, created_at, finished_at)
    values (${saga}, 1, 1, ${attempt}, ${status}, ${db.dialect.now()},
      case when ${status} in ('Pending', 'Leased') then null else ${db.dialect.now()} end)`);
}

onEachDatabase((database) => {
  it("[W-01] webhook_delivery_sagas has the columns and the labels of its source", async () => {
    const db = await database.open();
    await insertDelivery(db);
    const [row] = await db.query(sql`select * from ${db.dialect.table("webhook_delivery_sagas")}`);
    expect(Object.keys(row ?? {})).toEqual([
      "id",
      "event_id",
      "subscription_id",
      "status",
      "attempt_count",
      "next_attempt_at",
      "final_error_code",
      "generation",
      "requeued_from",
      "attempt_max",
      "created_at",
      "updated_at",
    ]);
    expect([row?.["attempt_count"], row?.["next_attempt_at"], row?.["final_error_code"]]).toEqual([
      0,
      null,
      null,
    ]);
    for (const [index, status] of deliveryMachine.states.entries())
      await insertDelivery(db, { event_id: 10 + index, status });
    for (const status of ["pending", "Failed", ""])
      await expect(insertDelivery(db, { event_id: 20, status })).rejects.toThrow(/check constraint/i);
  });

  it("[W-02] it has the indexes of its source", async () => {
    const db = await database.open();
    const rows =
      database.name === "postgres"
        ? await db.query(
            sql`select indexname as name, indexdef as text from pg_indexes where tablename = 'webhook_delivery_sagas'`,
          )
        : await db.query(
            sql`select name, sql as text from sqlite_master where tbl_name = 'amends_webhook_delivery_sagas' and type = 'index'`,
          );
    const found = new Map(
      rows.map((row) => [String(row["name"]).replace("amends_", ""), String(row["text"])]),
    );
    expect(found.get("idx_saga_event")).toMatch(/\(event_id, subscription_id\)$/);
    expect(found.get("idx_saga_status_retry")).toMatch(/\(status, next_attempt_at\)$/);
    expect(found.get("idx_saga_status")).toMatch(/\(status, id\)$/);
    expect(found.get("uniq_saga_event_subscription")).toMatch(
      /unique index.*\(event_id, subscription_id, generation\)$/i,
    );
  });

  it("[W-02] one event has one delivery of each generation to a subscription, one open one, and one that takes a dead one's place", async () => {
    const db = await database.open();
    await insertDelivery(db, { status: "DeadLettered" });
    await expect(insertDelivery(db, { status: "Completed" })).rejects.toThrow(/unique/i);
    await insertDelivery(db, { status: "InProgress", generation: 1, requeued_from: 1 });
    await expect(insertDelivery(db, { generation: 2 })).rejects.toThrow(/unique/i);
    await insertDelivery(db, { status: "Completed", generation: 2 });
    await expect(
      insertDelivery(db, { status: "Completed", generation: 3, requeued_from: 1 }),
    ).rejects.toThrow(/unique/i);
    await insertDelivery(db, { subscription_id: 2 });
    await insertDelivery(db, { event_id: 2 });
  });

  it("[W-05] the database lets a delivery have one active job, and one job for each attempt", async () => {
    const db = await database.open();
    await insertJob(db, 1, 1, "Failed");
    await insertJob(db, 1, 2, "Leased");
    await expect(insertJob(db, 1, 3, "Pending")).rejects.toThrow(/unique/i);
    await expect(insertJob(db, 1, 1, "Completed")).rejects.toThrow(/unique/i);
    await insertJob(db, 2, 1, "Pending");
    await expect(insertJob(db, 3, 1, "Running")).rejects.toThrow(/check constraint/i);
  });

  it.each(["Completed", "DeadLettered"])(
    "[K-13] a delivery that is %s never changes, and one that is open cannot vanish",
    async (status) => {
      const db = await database.open();
      const table = db.dialect.table("webhook_delivery_sagas");
      await insertDelivery(db, { status });
      for (const change of [
        sql`status = 'Pending'`,
        sql`attempt_count = 9`,
        sql`final_error_code = null`,
        sql`status = status`,
      ])
        await expect(db.query(sql`update ${table} set ${change}`)).rejects.toThrow("never changes");
      await db.query(sql`delete from ${table}`);
      await insertDelivery(db);
      await expect(db.query(sql`delete from ${table}`)).rejects.toThrow("cannot be deleted");
    },
  );

  it("[K-13] jobs that ended, attempts, events, settled letters and deleted subscriptions never change", async () => {
    const db = await database.open();
    const { dialect } = db;
    const now = dialect.now();
    await insertJob(db, 1, 1, "Completed");
    await db.query(sql`insert into ${dialect.table("webhook_events")} (event_key, type, attributes, payload, created_at)
      values ('e', 'a', '{}', '{}', ${now})`);
    await db.query(sql`insert into ${dialect.table("dead_letters")} (saga_id, event_id, subscription_id, status, error_code, attempt_count, created_at)
      values (1, 1, 1, 'Requeued', 'x', 1, ${now})`);
    await db.query(sql`insert into ${dialect.table("webhook_subscriptions")} (url, status, events, filter, secrets, concurrency, created_at, updated_at)
      values ('u', 'Deleted', '[]', '{}', '[]', 1, ${now}, ${now})`);
    await db.query(sql`insert into ${dialect.table("webhook_attempts")} (report, job_id, saga_id, token, verdict, ok, code, duration_ms, created_at)
      select '01900000-0000-7000-8000-000000000000', 1, 1, 1, 'accepted', 1 = 1, 'x', 1, ${now}`);
    const changes = {
      webhook_jobs: "attempts = 9",
      webhook_events: "payload = ''",
      dead_letters: "status = 'Open'",
      webhook_subscriptions: "status = 'Active'",
      webhook_attempts: "code = 'y'",
    };
    for (const [name, change] of Object.entries(changes))
      await expect(db.query(sql`update ${dialect.table(name)} set ${raw(change)}`)).rejects.toThrow(
        "amends:",
      );
  });
});

onDatabase("postgres", (database) => {
  it("[W-01] its columns have the types of its source", async () => {
    const db = await database.open();
    const columns = await db.query(sql`select column_name as name, data_type as type, is_nullable as nullable,
        character_maximum_length as length from information_schema.columns
      where table_schema = 'amends' and table_name = 'webhook_delivery_sagas' order by ordinal_position`);
    const told = columns.map(({ name, type, length, nullable }) =>
      [name, type, length, nullable === "YES" && "nullable"].filter(Boolean).join(" "),
    );
    expect(told).toEqual([
      "id bigint",
      "event_id bigint",
      "subscription_id bigint",
      "status text",
      "attempt_count integer",
      "next_attempt_at timestamp with time zone nullable",
      "final_error_code character varying 100 nullable",
      "generation integer",
      "requeued_from bigint nullable",
      "attempt_max integer nullable",
      "created_at timestamp with time zone",
      "updated_at timestamp with time zone",
    ]);
  });
});
