/**
 * What happens to the ticks of a schedule that are due. A tick that is at most a minute late is on time, and starts. A tick
 * that is later passed while no worker ran: the schedule's `missed` says what becomes of it.
 */
import { firstAfter, planned, type PlannedTick, type Timetable } from "./calendar.ts";

export const MISSED_POLICIES = ["one", "skip", "all"] as const;
/** What happens to ticks that passed while no worker ran: the latest of them starts, none does, or all do. */
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

export const OVERLAP_POLICIES = ["skip", "allow"] as const;
/** What happens to a tick while the saga of an earlier one is open: it is left out, or starts another saga beside it. */
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

export const TICK_OUTCOMES = ["started", "skipped", "missed"] as const;
/** What became of a tick: a saga was started, an earlier saga was open, or no worker ran. */
export type TickOutcome = (typeof TICK_OUTCOMES)[number];

/** A tick that begins later than this after its time was missed. */
export const LATE_MS = 60_000;

/** With `missed: "all"`, at most this many missed ticks start, the oldest first. */
export const CATCH_UP_MAX = 1_000;

export interface PendingTicks extends Timetable {
  readonly missed: MissedPolicy;
  /** The oldest tick that has not been processed. It is due. */
  readonly tickMs: number;
  /** How many missed ticks have started since the schedule was last on time. */
  readonly caughtUp: number;
}

/** A row of ticks one after another. */
export interface TickRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface DueTicks {
  /** The ticks that start, the oldest first. */
  readonly start: readonly number[];
  /** The ticks that are left out because they were missed. */
  readonly missed: TickRange | undefined;
  /** The next tick, which may be due as well; undefined if the schedule has none. */
  readonly next: PlannedTick | undefined;
  readonly caughtUp: number;
}

/** `limit` is how many missed ticks may start at once; the others follow in the next round. */
export function dueTicks(pending: PendingTicks, nowMs: number, limit: number): DueTicks {
  const { calendar, missed: policy, tickMs } = pending;
  const last = latestDue(pending, nowMs);
  const isLate = (tick: number): boolean => planned(pending, tick).dueMs < nowMs - LATE_MS;
  const onTime: number[] = [];
  for (let tick: number | undefined = last; tick !== undefined && tick >= tickMs && !isLate(tick);) {
    onTime.unshift(tick);
    tick = calendar.previous(tick);
  }
  const [first] = onTime;
  const lastLate = first === undefined ? last : calendar.previous(first);
  const done = { next: firstAfter(pending, last), caughtUp: 0 };
  if (lastLate === undefined || lastLate < tickMs) return { ...done, start: onTime, missed: undefined };
  if (policy === "all") return catchUp(pending, lastLate, onTime, limit, done);
  const isTaken = policy === "one" && first === undefined;
  const toMs = isTaken ? calendar.previous(lastLate) : lastLate;
  const missed = toMs === undefined || toMs < tickMs ? undefined : { fromMs: tickMs, toMs };
  return { ...done, start: isTaken ? [lastLate] : onTime, missed };
}

/** The latest tick that has begun. The pending one has. */
function latestDue(pending: PendingTicks, nowMs: number): number {
  const { calendar, tickMs } = pending;
  const latest = calendar.previous(nowMs + 1);
  if (latest === undefined || latest <= tickMs) return tickMs;
  if (planned(pending, latest).dueMs <= nowMs) return latest;
  return Math.max(tickMs, calendar.previous(latest) ?? tickMs);
}

function catchUp(
  pending: PendingTicks,
  lastLate: number,
  onTime: readonly number[],
  limit: number,
  done: Pick<DueTicks, "next" | "caughtUp">,
): DueTicks {
  const { calendar, caughtUp } = pending;
  const left = Math.max(0, CATCH_UP_MAX - caughtUp);
  const start: number[] = [];
  let tick: number | undefined = pending.tickMs;
  while (tick !== undefined && tick <= lastLate && start.length < Math.min(left, limit)) {
    start.push(tick);
    tick = calendar.next(tick);
  }
  if (tick === undefined || tick > lastLate)
    return { ...done, start: [...start, ...onTime], missed: undefined };
  if (start.length === left)
    return { ...done, start: [...start, ...onTime], missed: { fromMs: tick, toMs: lastLate } };
  return { start, missed: undefined, next: planned(pending, tick), caughtUp: caughtUp + start.length };
}
