/**
 * A step that acts in rounds, with a durable wait between two of them: to poll, or to remind. It ends when the application says so
 * after a round, when a signal or an event arrives, or after its last round. Each round has a key and tries of its own.
 */
import { durationText } from "../../duration.ts";
import type { StepState } from "./state.ts";
import type { Wait } from "./wait.ts";

/** The rounds of a planned step. */
export interface Repeat {
  /** The most rounds. */
  readonly max: number;
  /** The wait between two rounds. */
  readonly everyMs: number;
  /** The wait before the first round. */
  readonly delayMs?: number | undefined;
  /** The signal or event that ends the step at once. Undefined: the application says after each round whether it was the last. */
  readonly until?: Pick<Wait, "kind" | "target"> | undefined;
  /** After its last round the step fails, instead of going on. */
  readonly failsAtMax?: boolean | undefined;
}

/** `:%5/259200000`, `:%5/60000/1000` with a wait before the first round, `:%5/60000:paid`, `:%5/60000:$Paid!` if it fails at its end. */
export function repeatText({ max, everyMs, delayMs, until, failsAtMax }: Repeat): string {
  const target = until ? `:${until.kind === "event" ? "$" : ""}${until.target ?? ""}` : "";
  return `:%${max}/${everyMs}${delayMs === undefined ? "" : `/${delayMs}`}${target}${failsAtMax ? "!" : ""}`;
}

/** Undefined if this is no such text. */
export function readRepeat(text: string): Repeat | undefined {
  const match = /^:%([1-9]\d*)\/(\d+)(?:\/(\d+))?(?::(\$?)([^:/!$]+))?(!?)$/.exec(text);
  if (!match) return undefined;
  const [, max, every, delay, event, target, fails] = match;
  return {
    max: Number(max),
    everyMs: Number(every),
    ...(delay !== undefined && { delayMs: Number(delay) }),
    ...(target !== undefined && {
      until: { kind: event === "$" ? ("event" as const) : ("signal" as const), target },
    }),
    ...(fails === "!" && { failsAtMax: true }),
  };
}

/** How the step differs from the recorded one, in words. Other times and another number of rounds do not: the recorded ones hold. */
export function repeatChange(recorded: Repeat | undefined, now: Repeat | undefined): string | undefined {
  if (recorded === undefined || now === undefined) {
    if (recorded === now) return undefined;
    return now ? "became a step in rounds" : "no longer acts in rounds";
  }
  if (recorded.until?.kind === now.until?.kind && recorded.until?.target === now.until?.target)
    return undefined;
  return `repeats until ${untilText(now)}, not until ${untilText(recorded)}`;
}

function untilText({ until }: Repeat): string {
  return until ? `${until.kind} ${until.target ?? ""}` : "its round says so";
}

/** For pictures: "every 3d, at most 5 times, until signal paid". */
export function repeatPhrase(repeat: Repeat): string {
  const until = repeat.until ? `, until ${untilText(repeat)}` : "";
  return `every ${durationText(repeat.everyMs)}, at most ${repeat.max} times${until}`;
}

/** The details of a round's success: what its act returned, as JSON, and whether it was the last. */
export function roundDetails(value: string | null, isLast: boolean): string {
  return `{"done":${isLast}${value === null ? "" : `,"value":${value}`}}`;
}

export function readRound(details: string | null): { readonly done: boolean; readonly value?: unknown } {
  return details === null ? { done: false } : (JSON.parse(details) as { done: boolean; value?: unknown });
}

/** What the step is worth to later steps. */
export interface RepeatResult {
  /** It ended because the application or the signal said so, not because of its last round. */
  readonly done: boolean;
  /** The number of rounds. */
  readonly rounds: number;
  /** What the last round returned. */
  readonly result?: unknown;
  /** The payload of the signal or the data of the event that ended it. */
  readonly received?: unknown;
}

export function repeatResult(
  { round = 0, last }: StepState,
  done: boolean,
  received?: unknown,
): RepeatResult {
  return {
    done,
    rounds: round,
    ...(last !== undefined && { result: last }),
    ...(received !== undefined && { received }),
  };
}

/**
 * How long the step waits now: before its first round, between two rounds, or, for a signal or an event, once more after the last
 * round. Undefined: it does not wait, and goes on or fails.
 */
export function pauseMs({ max, everyMs, delayMs, until }: Repeat, round: number): number | undefined {
  if (round === 0) return delayMs;
  return round < max || until ? everyMs : undefined;
}
