/**
 * The failures that can be injected at one call of a step, as a table. A schedule is a list of failures, and its
 * seed is their names, so a seed is readable and repeats the same schedule in any process.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Direction } from "../../core/identity.ts";
import { stepOf } from "../../core/saga/part-name.ts";

interface Kind {
  /** When the failure happens: before the step's code runs, after it has run, or after its outcome was written. */
  readonly moment: "before" | "answered" | "written";
  /** True if the process dies; otherwise only the result of the call changes. */
  readonly crash?: boolean;
  /** True if it happens at every attempt, so that the step cannot succeed; otherwise only at the first one. */
  readonly lasting?: boolean;
  /** True if it needs a call with a time limit. */
  readonly limited?: boolean;
  readonly words: (call: string) => string;
}

export type TroubleKind =
  | "crash-before"
  | "crash-answered"
  | "crash-written"
  | "lost"
  | "fail"
  | "lost-always"
  | "terminal"
  | "err"
  | "hang"
  | "hang-done"
  | "untold"
  | "told-late";

export const KINDS: Readonly<Record<TroubleKind, Kind>> = {
  "crash-before": {
    moment: "before",
    crash: true,
    words: (call) => `crash before ${call} was called`,
  },
  "crash-answered": {
    moment: "answered",
    crash: true,
    words: (call) => `crash after ${call} answered, before its outcome was written`,
  },
  "crash-written": {
    moment: "written",
    crash: true,
    words: (call) => `crash after the outcome of ${call} was written`,
  },
  lost: { moment: "answered", words: (call) => `${call} happened, and its first answer was lost` },
  fail: { moment: "before", lasting: true, words: (call) => `${call} failed at every try` },
  "lost-always": {
    moment: "answered",
    lasting: true,
    words: (call) => `${call} happened, and its answer was lost at every try`,
  },
  terminal: { moment: "before", lasting: true, words: (call) => `${call} failed permanently` },
  err: { moment: "before", lasting: true, words: (call) => `${call} answered with err` },
  hang: {
    moment: "before",
    lasting: true,
    limited: true,
    words: (call) => `${call} did not answer before its time was up`,
  },
  "hang-done": {
    moment: "answered",
    lasting: true,
    limited: true,
    words: (call) => `${call} happened, but did not answer before its time was up`,
  },
  untold: { moment: "before", lasting: true, words: (call) => `${call} never received what it waits for` },
  "told-late": {
    moment: "before",
    lasting: true,
    words: (call) => `${call} received what it waits for only after its first round`,
  },
};

export interface Trouble {
  readonly kind: TroubleKind;
  /** The name of the step, of the item or of the round (tree.ts). */
  readonly step: string;
  readonly action: Direction;
}

export type Schedule = readonly Trouble[];

const NOTHING = "none";

/** `terminal@ship+crash-answered@reserve[lamp]/undo`: names cannot contain these characters. */
export function seedOf(schedule: Schedule): string {
  if (schedule.length === 0) return NOTHING;
  return schedule
    .map(({ kind, step, action }) => `${kind}@${step}${action === "act" ? "" : "/undo"}`)
    .join("+");
}

/** The schedule of a seed, for a saga with these steps. */
export function readSeed(seed: unknown, steps: readonly string[]): Schedule {
  if (seed === NOTHING) return [];
  return String(seed)
    .split("+")
    .map((part) => {
      const [, kind = "", step = "", undo] = /^([a-z-]+)@([^@/]+)(\/undo)?$/.exec(part) ?? [];
      if (!Object.hasOwn(KINDS, kind) || !steps.includes(stepOf(step))) {
        throw new AmendsError(
          "BAD_OPTION",
          `prove: the seed has a part that does not fit this saga: ${part}. Give a seed as a report of \`prove\` has it.`,
        );
      }
      return { kind: kind as TroubleKind, step, action: undo ? "compensate" : "act" };
    });
}

/** A schedule in words. */
export function describe(schedule: Schedule): string {
  if (schedule.length === 0) return "nothing went wrong";
  return schedule.map((trouble) => KINDS[trouble.kind].words(callName(trouble))).join(", then ");
}

export function callName({ step, action }: Pick<Trouble, "step" | "action">): string {
  return action === "act" ? step : `the undo of ${step}`;
}
