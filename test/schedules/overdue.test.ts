/** Schedules that no worker serves are told, and the statements of workers read no table from end to end. */
import { expect, it } from "vitest";
import { selectDue, selectOpenTicks, selectUntilNext } from "../../src/schedules/tick-queries.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite, type Explainer } from "../conformance/plans.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { insertMany } from "./support/many.ts";
import { HOUR, MINUTE, NIGHT, NOTE, scene } from "./support/scene.ts";

onEachDatabase((database) => {
  it("[S-41] a schedule whose saga no worker knows needs a person once its tick is 10 minutes late", async () => {
    const { amends, clock, invoice } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    const stranger = await database.amends({ clock });
    clock.jump(HOUR + 10 * MINUTE - 1);
    await stranger.worker().runOnce();
    expect((await stranger.attention.list()).items).toEqual([]);
    clock.jump(1);
    const found = {
      kind: "overdue-schedule",
      id: "s",
      name: "s",
      since: new Date(NIGHT + HOUR),
      reason:
        "its tick cannot start: no running worker has saga invoice (version 1). Run a worker that has it, put the schedule with a version that workers have, or pause it",
      actions: ["pause", "remove"],
      saga: "invoice",
      version: 1,
      served: false,
    };
    expect((await stranger.attention.list({ kind: "overdue-schedule" })).items).toEqual([found]);
    expect((await stranger.attention.count()).kinds["overdue-schedule"]).toEqual({ value: 1, exact: true });
    await stranger.schedules.pause("s", NOTE);
    expect((await stranger.attention.list()).items).toEqual([]);
  });

  it("[S-41] a worker that takes its sagas up has the item gone; one that knows the saga and does not is told apart", async () => {
    const { amends, clock, invoice, pass } = await scene(database);
    await amends.schedules.put("s", { cron: "0 * * * *", saga: invoice, input: {} });
    clock.jump(HOUR + 11 * MINUTE);
    await amends.worker({ only: ["sagas"] }).runOnce();
    const [item] = (await amends.attention.list()).items;
    expect(item).toMatchObject({ kind: "overdue-schedule", served: true });
    expect(item?.reason).toContain("although a worker has it");
    await pass(0);
    expect((await amends.attention.list()).items).toEqual([]);
  });
});

const WATCH = { small: /^$/, tables: ["schedules", "schedule_ticks"] };

async function scansOf(db: Database, { scans }: Explainer): Promise<readonly string[]> {
  const { dialect } = db;
  const lanes = ["invoice@1", "other@1", "third@2"];
  const statements: readonly Sql[] = [
    selectDue(dialect, lanes, 100),
    selectUntilNext(dialect, lanes),
    selectOpenTicks(dialect, ["s-1", "s-2"]),
  ];
  await insertMany(db, 10_000);
  await db.query(raw("analyze"));
  const found: string[] = [];
  for (const statement of statements) found.push(...(await scans(statement)));
  return found;
}

onDatabase("sqlite", (database) => {
  it("[S-41] among 10,000 schedules, a worker's look reads no table from end to end", async () => {
    const db = await database.open();
    expect(await scansOf(db, explainSqlite(db, WATCH))).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it("[S-41] among 10,000 schedules, a worker's look reads no table from end to end", async () => {
    const db = await database.open();
    const explainer = await explainPostgres(await database.place(), "generic", WATCH);
    const scans = await scansOf(db, explainer);
    await explainer.end();
    expect(scans).toEqual([]);
  });
});
