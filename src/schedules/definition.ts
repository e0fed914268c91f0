/** What a schedule is: when it ticks, which saga each tick starts, and what happens to ticks that come too late or too soon. */
import { durationMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { checkName } from "../core/identity.ts";
import { canonicalJson } from "../core/json.ts";
import { refuseUnknown } from "../core/options.ts";
import {
  MISSED_POLICIES,
  OVERLAP_POLICIES,
  type MissedPolicy,
  type OverlapPolicy,
} from "../core/schedule/due-ticks.ts";
import type { Startable } from "../sagas/define/reference.ts";
import { checkCron, checkTimezone } from "./cron.ts";

/** When a schedule ticks. */
export interface ScheduleTiming {
  /**
   * When it ticks: minute, hour, day of month, month and day of week, such as `"0 3 * * *"`, or `"@daily"` and the like. There
   * are no seconds.
   */
  readonly cron: string;
  /** The time zone of `cron`, such as `"Europe/Berlin"`. Default: UTC. */
  readonly timezone?: string;
  /**
   * Each tick begins up to this much later, and before the next tick: schedules that tick at the same time are spread. The
   * delay is derived from the name and the tick. At most 1d. Default: none.
   */
  readonly jitter?: Duration;
}

/** What happens to ticks that come too late or too soon. */
export type ScheduleRules =
  | {
      /**
       * What happens to a tick while the saga of an earlier tick is open: `"skip"` leaves the tick out, `"allow"` starts another
       * saga beside it. Default: `"skip"`.
       */
      readonly overlap?: OverlapPolicy;
      /**
       * What happens to ticks that passed while no worker ran: `"one"` starts the latest of them, `"skip"` none, `"all"` each of
       * them, the oldest first and at most 1,000. A tick counts as passed when it is more than a minute late. Default: `"one"`.
       */
      readonly missed?: "one" | "skip";
    }
  | {
      /** Several sagas start at once, so `missed: "all"` needs `"allow"`. */
      readonly overlap: "allow";
      /** Each tick that passed while no worker ran starts a saga, the oldest first, at most 1,000. */
      readonly missed: "all";
    };

/** What each tick starts. */
export interface ScheduledStart<Input, Output, Results, Failure> {
  /** The saga, or a reference to one that other processes run. Its version is stored with the schedule. */
  readonly saga: Startable<Input, Output, Results, Failure>;
  /** The input of each saga. It goes through the schema of the saga when the schedule is put. */
  readonly input: NoInfer<Input>;
}

/** A schedule: `amends.schedules.put(name, definition)`. */
export type ScheduleDefinition<Input, Output, Results, Failure> = ScheduleTiming &
  ScheduleRules &
  ScheduledStart<Input, Output, Results, Failure>;

/** The timing and the rules, checked, as they are stored. */
export interface CheckedTiming {
  readonly cron: string;
  readonly timezone: string;
  readonly overlap: OverlapPolicy;
  readonly missed: MissedPolicy;
  readonly jitterMs: number;
}

/** A whole definition, checked, as it is stored. */
export interface CheckedDefinition extends CheckedTiming {
  readonly name: string;
  readonly saga: string;
  readonly version: number;
  /** As JSON. */
  readonly input: string;
}

const OPTIONS = ["cron", "timezone", "saga", "input", "overlap", "missed", "jitter"];
const NAME_MAX = 128;
const JITTER_MAX_MS = 86_400_000;

export function checkScheduleName(name: unknown): string {
  return checkName(name, "A schedule's name", NAME_MAX);
}

/** Everything but the saga and its input. */
export function checkTiming(name: string, given: object): CheckedTiming {
  const where = `Schedule ${name}`;
  refuseUnknown(given, OPTIONS, where);
  const {
    cron,
    timezone = "UTC",
    overlap = "skip",
    missed = "one",
    jitter = 0,
  } = given as Partial<CheckedTiming & ScheduleTiming>;
  const zone = checkTimezone(timezone, where);
  oneOf(overlap, OVERLAP_POLICIES, `${where}: \`overlap\``);
  oneOf(missed, MISSED_POLICIES, `${where}: \`missed\``);
  if (missed === "all" && overlap !== "allow") {
    throw new AmendsError(
      "BAD_DEFINITION",
      `${where}: \`missed: "all"\` starts several sagas at once, and \`overlap: "skip"\` leaves all but the first out. Add \`overlap: "allow"\`, or choose \`missed: "one"\`.`,
      { field: "missed" },
    );
  }
  const jitterMs = durationMs(jitter, `${where}: jitter`);
  if (jitterMs > JITTER_MAX_MS)
    throw new AmendsError("BAD_DURATION", `${where}: jitter must be at most 1d.`, { field: "jitter" });
  return { cron: checkCron(cron, zone, where), timezone: zone, overlap, missed, jitterMs };
}

function oneOf(value: unknown, known: readonly string[], field: string): void {
  if (known.includes(value as string)) return;
  throw new AmendsError("BAD_DEFINITION", `${field} must be one of ${known.join(", ")}.`);
}

/** Whether a schedule is stored with this very definition. */
export function isSameDefinition(one: CheckedDefinition, other: CheckedDefinition): boolean {
  const { cron, timezone, overlap, missed, jitterMs, saga, version } = one;
  return (
    cron === other.cron &&
    timezone === other.timezone &&
    overlap === other.overlap &&
    missed === other.missed &&
    jitterMs === other.jitterMs &&
    saga === other.saga &&
    version === other.version &&
    canonicalJson(JSON.parse(one.input)) === canonicalJson(JSON.parse(other.input))
  );
}
