/**
 * A trigger of the user's on one of our tables fails with a duplicate key of its own, the first time that it runs. Each
 * optimistic write must report that, and must not take it for a refusal and write again in its checked form: the second
 * try would succeed, and nobody would hear of the first.
 */
import { saga } from "amends";
import { event } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { onDatabase } from "../support/databases.ts";
import { parts } from "../webhooks/support/parts.ts";
import { stage } from "../webhooks/support/stage.ts";

const one = saga("one", z.object({})).step("one", { act: () => 1 });
const Registered = event("Registered", z.object({ srn: z.string() }));

/** Writes into a diary of the user's with every change of the table, and stumbles over its key at the first one. */
async function stumbleOn(db: Database, change: "insert" | "update", table: string): Promise<void> {
  await db.query(raw("create table diary (n integer primary key)"));
  await db.query(raw("insert into diary values (1)"));
  await db.query(raw("create sequence diary_numbers"));
  await db.query(
    raw(
      "create function stumble() returns trigger language plpgsql as $$ begin insert into diary values (nextval('diary_numbers')); return new; end $$",
    ),
  );
  await db.query(
    raw(
      `create trigger stumble after ${change} on ${db.dialect.table(table).text} for each row execute function stumble()`,
    ),
  );
}

/** How often the trigger ran, in transactions that were rolled back as well. */
async function tries(db: Database): Promise<number> {
  const [row] = await db.query(raw("select last_value::int as tries from diary_numbers"));
  return Number(row?.["tries"]);
}

onDatabase("postgres", (database) => {
  const REFUSED = { code: "DATABASE_REFUSED", cause: { code: "23505", table: "diary" } };

  it("[K-06] a start that a duplicate key of the user's own table stops is an error, and is not tried again", async () => {
    const db = await database.open();
    await stumbleOn(db, "insert", "saga_executions");
    const amends = await database.amends({ database: db, sagas: [one] });
    await expect(amends.start(one, {}, { id: "a" })).rejects.toMatchObject(REFUSED);
    expect(await tries(db)).toBe(1);
    expect(await db.query(sql`select id from ${db.dialect.table("saga_executions")}`)).toEqual([]);
  });

  it("[K-06] a publication that a duplicate key of the user's own table stops is an error, and is not tried again", async () => {
    const db = await database.open();
    await stumbleOn(db, "insert", "outbox");
    const amends = await database.amends({ database: db, events: [] });
    await expect(amends.events.publish(Registered({ srn: "a" }))).rejects.toMatchObject(REFUSED);
    expect(await tries(db)).toBe(1);
    expect(await db.query(sql`select entry_id from ${db.dialect.table("outbox")}`)).toEqual([]);
  });

  it("[K-06] the result of a delivery that a duplicate key of the user's own table stops is an error, and is not tried again", async () => {
    const { db, subscribe, publish, states } = await stage(database);
    await subscribe("a");
    await publish();
    const { take, tell } = parts(db);
    const [task] = await take();
    if (!task) throw new Error("nothing was due");
    await stumbleOn(db, "insert", "webhook_attempts");
    await expect(tell(task, { ok: true, code: "http_200" })).rejects.toMatchObject(REFUSED);
    expect(await tries(db)).toBe(1);
    expect(await states()).toEqual(["InProgress 0"]);
    // With the cause gone, the same result counts.
    expect(await tell(task, { ok: true, code: "http_200" })).toBe("accepted");
    expect(await states()).toEqual(["Completed 1"]);
  });

  it("[K-06] jobs that a duplicate key of the user's own table stops are an error, and are not made again", async () => {
    const { amends, db, subscribe, publish, rows } = await stage(database);
    await subscribe("a");
    await publish();
    await stumbleOn(db, "insert", "webhook_jobs");
    await expect(amends.worker().runOnce()).rejects.toMatchObject(REFUSED);
    expect(await tries(db)).toBe(1);
    expect(await rows("webhook_jobs")).toEqual([]);
  });
});
