/**
 * Steps that only wait: for time to pass, for a signal, or for an event. The plan says what each waits for and how long, so a
 * saga keeps its waits when its definition changes, and readers of the plan see them.
 */
import { durationText } from "../duration.ts";

/** What a planned step waits for. */
export interface Wait {
  /** Time, a signal or an event. */
  readonly kind: "sleep" | "signal" | "event";
  /** The signal's name or the event's type; nothing for a sleep. */
  readonly target?: string | undefined;
  /** How long a sleep lasts, and how long anything else is waited for at most. */
  readonly limitMs?: number | undefined;
  /** When the limit passes, the saga goes on instead of turning back. */
  readonly goesOn?: boolean | undefined;
}

/** Something that was sent to a saga. Numbers are given one by one, in the order in which it was sent. */
export interface Arrival {
  readonly number: number;
  readonly name: string;
  readonly payload: string | null;
  /** Of an event: the version under which its data was stored. */
  readonly version?: number | undefined;
}

/** `/7200000` is a sleep, `:approved` waits for a signal, `:$Paid/60000+` for an event, then goes on without it. */
export function waitText({ kind, target, limitMs, goesOn }: Wait): string {
  const what = kind === "sleep" ? "" : `:${kind === "event" ? "$" : ""}${target ?? ""}`;
  return `${what}${limitMs === undefined ? "" : `/${limitMs}`}${goesOn ? "+" : ""}`;
}

export function readWait(text: string): Wait | undefined | "unreadable" {
  if (text === "") return undefined;
  const match = /^(?::(\$?)([^&:/+$]+))?(?:\/(\d+))?(\+?)$/.exec(text);
  const [, event, target, limit, goesOn] = match ?? [];
  if (!match || (target === undefined && limit === undefined)) return "unreadable";
  return {
    kind: target === undefined ? "sleep" : event === "$" ? "event" : "signal",
    ...(target !== undefined && { target }),
    ...(limit !== undefined && { limitMs: Number(limit) }),
    ...(goesOn === "+" && { goesOn: true }),
  };
}

/** The name under which a signal or an event is sent to the saga. */
export function arrivesAs(step: string, { kind, target }: Wait): string {
  return kind === "event" ? eventArrivesAs(step) : (target ?? "");
}

/** An event is kept for the step that waits for it, under a name that no signal can have. */
export function eventArrivesAs(step: string): string {
  return `$${step}`;
}

export function isEventName(name: string): boolean {
  return name.startsWith("$");
}

/** How a wait differs from the recorded one, in words. Another time limit does not: the recorded one holds. */
export function waitChange(recorded: Wait | undefined, now: Wait | undefined): string | undefined {
  if (recorded === undefined || now === undefined) {
    if (recorded === now) return undefined;
    return now ? "became a wait" : "no longer waits";
  }
  if (recorded.kind === now.kind && recorded.target === now.target) return undefined;
  return `waits for ${waitFor(now)}, not for ${waitFor(recorded)}`;
}

/** What the step waits for, in words. */
export function waitFor({ kind, target }: Wait): string {
  return kind === "sleep" ? "time to pass" : `${kind} ${target ?? ""}`;
}

/** The same with how long, for pictures: "sleeps 2h", "waits for signal approved, at most 3d". */
export function waitPhrase(wait: Wait): string {
  const limit = wait.limitMs === undefined ? undefined : durationText(wait.limitMs);
  if (wait.kind === "sleep") return `sleeps ${limit ?? ""}`;
  return `waits for ${waitFor(wait)}${limit === undefined ? "" : `, at most ${limit}`}`;
}

/** The line's details where something arrived: which one, so that no other wait takes it, too. */
export function receivedDetails(number: number, value: string | null): string {
  return `{"number":${number}${value === null ? "" : `,"value":${value}`}}`;
}

/** What the wait received; nothing if its time passed. */
export function readReceived(details: string | null): { readonly number?: number; readonly value?: unknown } {
  return details === null ? {} : (JSON.parse(details) as { number: number; value?: unknown });
}
