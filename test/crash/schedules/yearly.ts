/** Schedules with ticks that have passed: one a year, so that no tick is added while a test runs. */
import { Amends, saga } from "amends";
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import { anything } from "../scenarios/scenario.ts";

export const LEASE_MS = 1_000;

/** The number of ticks of each schedule that have passed. */
export const TICKS = 5;

export const report = saga("report", anything, { recoveries: 20 }).step("write", { act: () => 1 });

const yearOf = (back: number): number => new Date().getUTCFullYear() - back;

/** The ids of the sagas that the passed ticks of this schedule start. */
export function expectedIds(name: string): readonly string[] {
  return Array.from({ length: TICKS }, (_, n) => `${name}@${yearOf(TICKS - 1 - n)}-01-01T00:00:00Z`);
}

export function namesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `yearly-${n}`);
}

export async function putOverdue(database: Database, names: readonly string[]): Promise<void> {
  const amends = new Amends({ database, sagas: [report] });
  for (const name of names)
    await amends.schedules.put(name, {
      cron: "0 0 1 1 *",
      saga: report,
      input: {},
      overlap: "allow",
      missed: "all",
    });
  const { dialect } = database;
  const first = dialect.instantOf(Date.UTC(yearOf(TICKS - 1), 0, 1));
  await database.query(sql`update ${dialect.table("schedules")} set tick_at = ${first}, next_at = ${first}`);
}
