/** Schedules: sagas that start at the times that a cron text names. `amends.schedules` puts, shows and steers them. */
export {
  Schedules,
  type GetScheduleOptions,
  type ScheduleFilter,
  type ScheduleTransaction,
} from "./schedules/schedules.ts";
export {
  type ScheduledStart,
  type ScheduleDefinition,
  type ScheduleRules,
  type ScheduleTiming,
} from "./schedules/definition.ts";
export { type PutResult } from "./schedules/put.ts";
export {
  type ListedSchedule,
  type NextTick,
  type PauseView,
  type Schedule,
  type ScheduleStatus,
  type ScheduleTick,
} from "./schedules/read/view.ts";
export { type MissedPolicy, type OverlapPolicy, type TickOutcome } from "./core/schedule/due-ticks.ts";
