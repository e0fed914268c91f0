/** One round of ticks: what each due schedule writes, and the transaction that writes it. */
import { sagaMachine } from "../core/saga/machine.ts";
import { planned } from "../core/schedule/calendar.ts";
import { dueTicks } from "../core/schedule/due-ticks.ts";
import { roundOutcome, type TickRecord } from "../core/schedule/outcomes.ts";
import type { NewSaga } from "../sagas/journal/journal.ts";
import type { Session } from "../storage/database.ts";
import { calendarOf } from "./cron.ts";
import { KEPT, newToken, REMOVED } from "./rows.ts";
import type { ScheduledSagas } from "./sagas.ts";
import {
  lockDue,
  moveSchedules,
  noteEnds,
  writeTicks,
  type DueSchedule,
  type EndedTick,
  type MovedSchedule,
  type NewTick,
  type OpenTick,
} from "./tick-queries.ts";

/** What the round of one schedule writes. */
export interface Plan {
  readonly moved: MovedSchedule;
  readonly sagas: readonly NewSaga[];
  readonly ticks: readonly NewTick[];
  readonly ends: readonly EndedTick[];
}

/**
 * `started` are sagas of earlier ticks whose end is not recorded yet. Undefined if this process cannot run the saga; throws if
 * the saga cannot be made.
 */
export function planOf(
  sagas: ScheduledSagas,
  schedule: DueSchedule,
  last: TickRecord | undefined,
  started: readonly OpenTick[],
  limit: number,
): Plan | undefined {
  const { name, saga, version, input, token, tickAt, nowMs } = schedule;
  const timetable = { ...schedule, calendar: calendarOf(schedule.cron, schedule.timezone) };
  const pending = tickAt === undefined ? undefined : planned(timetable, tickAt);
  // A run that an operator asked for comes before its time.
  const due =
    pending && pending.dueMs <= nowMs
      ? dueTicks({ ...timetable, tickMs: pending.tickMs }, nowMs, limit)
      : undefined;
  const ended = started.filter(({ status }) => status === undefined || sagaMachine.isTerminal(status));
  const openSagaId = started.findLast((one) => !ended.includes(one))?.sagaId;
  const { sagaIds, records, ticks } = roundOutcome({ ...schedule, openSagaId, last, due });
  const prepared = sagaIds.flatMap((id) => sagas.prepareKnown({ name: saga, version }, input, id) ?? []);
  if (prepared.length < sagaIds.length) return undefined;
  const next = due ? due.next : pending;
  const caughtUp = due?.caughtUp ?? schedule.caughtUp;
  return {
    moved: { name, token, newToken: newToken(), tickMs: next?.tickMs, nextMs: next?.dueMs, caughtUp, ticks },
    sagas: prepared,
    // Older ones would take the places of newer ones.
    ticks: records.slice(-KEPT).map((record) => ({ ...record, schedule: name })),
    ends: ended.map(({ number, status }) => ({ schedule: name, number, ended: status ?? REMOVED })),
  };
}

/** Writes the plans whose schedules are still as they were read, and returns these plans. */
export async function writePlans(
  session: Session,
  sagas: ScheduledSagas,
  plans: readonly Plan[],
): Promise<readonly Plan[]> {
  const { dialect } = session;
  const locked = await session.query(
    lockDue(
      dialect,
      plans.map(({ moved }) => moved),
    ),
  );
  const names = new Set(locked.map((row) => row["name"]));
  const held = plans.filter(({ moved }) => names.has(moved.name));
  if (held.length === 0) return held;
  const starts = held.flatMap((plan) => plan.sagas);
  const ticks = held.flatMap((plan) => plan.ticks);
  const ends = held.flatMap((plan) => plan.ends);
  if (starts.length > 0) await sagas.create(session, starts);
  // An end is noted in a record that may be written anew below.
  if (ends.length > 0) await session.query(noteEnds(dialect, ends));
  if (ticks.length > 0) await session.query(writeTicks(dialect, ticks));
  await session.query(
    moveSchedules(
      dialect,
      held.map(({ moved }) => moved),
    ),
  );
  return held;
}
