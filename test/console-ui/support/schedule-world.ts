/** Schedules of the same shop. */
import type {
  NextTick,
  ScheduleAction,
  ScheduleDetail,
  ScheduleTick,
} from "../../../src/console/contract-parts.ts";
import { mask } from "../../../src/console/http/mask.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const iso = (atMs: number): string => new Date(atMs).toISOString();

export const SCHEDULE_ACTIONS: Readonly<Record<ScheduleDetail["status"], readonly ScheduleAction[]>> = {
  active: ["run", "pause", "remove"],
  paused: ["resume", "run", "remove"],
};

export function tickOf(id: string, atMs: number, more: Partial<ScheduleTick> = {}): ScheduleTick {
  return {
    at: iso(atMs),
    until: null,
    outcome: "started",
    run: false,
    sagaId: `${id}@${iso(atMs).replace(".000Z", "Z")}`,
    sagaStatus: "COMPLETED",
    ...more,
  };
}

export function scheduleOf(id: string, nowMs: number, more: Partial<ScheduleDetail> = {}): ScheduleDetail {
  const { status = "active", jitterMs = 0, lastTicks = lastNights(id, nowMs) } = more;
  const midnight = Math.floor(nowMs / DAY) * DAY;
  const nextTicks = Array.from({ length: 10 }, (_, n): NextTick => {
    const at = midnight + 2 * HOUR + (n + 1) * DAY;
    return { at: iso(at), beginsAt: iso(at + Math.floor(jitterMs / 3) + (jitterMs > 0 ? n * 1_000 : 0)) };
  });
  const isActive = status === "active";
  return {
    id,
    status,
    cron: "0 3 * * *",
    timezone: "Europe/Berlin",
    saga: "renew-subscription",
    version: 2,
    overlap: "skip",
    missed: "one",
    jitterMs,
    next: isActive ? (nextTicks[0] ?? null) : null,
    last: lastTicks[0] ?? null,
    pendingRun: null,
    paused: null,
    createdAt: iso(nowMs - 90 * DAY),
    updatedAt: iso(nowMs - 5 * HOUR),
    actions: SCHEDULE_ACTIONS[status],
    input: mask({ region: "eu", dryRun: false }),
    nextTicks: isActive ? nextTicks : [],
    lastTicks,
    ...more,
  };
}

/** A night that failed, one that was skipped, and some that no worker saw. */
function lastNights(id: string, nowMs: number): readonly ScheduleTick[] {
  const night = Math.floor(nowMs / DAY) * DAY + 2 * HOUR;
  return [
    tickOf(id, night, { sagaStatus: "STALLED" }),
    tickOf(id, night - 9 * HOUR, { run: true, sagaId: `${id}@run-0193a7b2`, sagaStatus: "COMPLETED" }),
    tickOf(id, night - DAY, { sagaStatus: "FAILED" }),
    tickOf(id, night - 2 * DAY, { outcome: "skipped", sagaId: tickOf(id, night - 3 * DAY).sagaId }),
    tickOf(id, night - 3 * DAY),
    tickOf(id, night - 7 * DAY, {
      until: iso(night - 4 * DAY),
      outcome: "missed",
      sagaId: null,
      sagaStatus: null,
    }),
    ...Array.from({ length: 6 }, (_, n) => tickOf(id, night - (8 + n) * DAY)),
  ];
}

export function schedulesOf(nowMs: number): readonly ScheduleDetail[] {
  return [
    scheduleOf("cart-reminders", nowMs, { cron: "*/15 * * * *", timezone: "UTC", overlap: "allow" }),
    scheduleOf("nightly-invoices", nowMs, { jitterMs: 600_000 }),
    scheduleOf("payouts-acme", nowMs, {
      status: "paused",
      cron: "0 9 * * MON-FRI",
      timezone: "America/New_York",
      paused: { since: iso(nowMs - 6 * HOUR), by: "Otto", reason: "The bank has a holiday" },
    }),
    scheduleOf("weekly-report", nowMs, {
      cron: "30 6 * * MON",
      lastTicks: [],
      pendingRun: "weekly-report@run-0193a7c9",
    }),
  ];
}
