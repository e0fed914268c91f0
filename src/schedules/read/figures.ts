/** What is overdue, how long due ticks have waited, and whether anything has changed: for attention, health and live pages. */
import type { Dialect } from "../../storage/database.ts";
import { age, sign, type Figure } from "../../storage/read/figures.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import { changeSign, oldestDue, OVERDUE, overdueRows, type OverdueSchedule } from "./queries.ts";

export type { OverdueSchedule };

/** Schedules whose tick no worker has processed for a time. */
export const overdueSchedules: Source<OverdueSchedule> = sourceOf(overdueRows, (row) => OVERDUE.read(row));

/** How long the oldest tick that is due has waited. */
export function dueScheduleAge(dialect: Dialect): Figure<number> {
  return age(dialect, oldestDue(dialect));
}

export function scheduleSign(dialect: Dialect): Figure<string> {
  return sign(changeSign(dialect));
}
