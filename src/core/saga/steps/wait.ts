/**
 * Steps that only wait: for time to pass, for a signal, for an event, or for the first of several of these. The plan says what each
 * waits for and how long, so a saga keeps its waits when its definition changes, and readers of the plan see them.
 */
import { durationText } from "../../duration.ts";

/** What a planned step waits for. */
export interface Wait {
  /** Time, a signal, an event, or the first of several alternatives. */
  readonly kind: "sleep" | "signal" | "event" | "any";
  /** The signal's name or the event's type; nothing for a sleep. */
  readonly target?: string | undefined;
  /** How long a sleep lasts, and how long anything else is waited for at most. */
  readonly limitMs?: number | undefined;
  /** When the limit passes, the saga goes on instead of turning back. */
  readonly goesOn?: boolean | undefined;
  /** What a wait for the first of several waits for, as declared. */
  readonly any?: readonly Alternative[] | undefined;
}

/** One of several things that end a wait. */
export interface Alternative {
  /** The name by which the result says that this one came first. */
  readonly name: string;
  /** Time, a signal or an event. */
  readonly kind: "sleep" | "signal" | "event";
  /** The signal's name or the event's type; nothing for a sleep. */
  readonly target?: string | undefined;
  /** How long a sleep lasts. */
  readonly limitMs?: number | undefined;
}

/** Something that was sent to a saga. Numbers are given one by one, in the order in which it was sent. */
export interface Arrival {
  readonly number: number;
  readonly name: string;
  readonly payload: string | null;
  /** Of an event: the version under which its data was stored. */
  readonly version?: number | undefined;
  /** When it was sent, by the database's clock, where that is known. */
  readonly atMs?: number | undefined;
}

/**
 * `/7200000` is a sleep, `:approved` waits for a signal, `:$Paid/60000+` for an event, then goes on without it, and
 * `:{paid:$Paid,cancelled:cancel,late/60000}` for the first of several.
 */
export function waitText({ kind, target, limitMs, goesOn, any }: Wait): string {
  if (any) return `:{${any.map((one) => one.name + waitText(one)).join(",")}}`;
  const what = kind === "sleep" ? "" : `:${kind === "event" ? "$" : ""}${target ?? ""}`;
  return `${what}${limitMs === undefined ? "" : `/${limitMs}`}${goesOn ? "+" : ""}`;
}

export function readWait(text: string): Wait | undefined | "unreadable" {
  if (text === "") return undefined;
  if (text.startsWith(":{")) return readAny(text);
  const match = /^(?::(\$?)([A-Za-z][\w.-]*))?(?:\/(\d+))?(\+?)$/.exec(text);
  const [, event, target, limit, goesOn] = match ?? [];
  if (!match || (target === undefined && limit === undefined)) return "unreadable";
  return {
    kind: target === undefined ? "sleep" : event === "$" ? "event" : "signal",
    ...(target !== undefined && { target }),
    ...(limit !== undefined && { limitMs: Number(limit) }),
    ...(goesOn === "+" && { goesOn: true }),
  };
}

function readAny(text: string): Wait | "unreadable" {
  const any: Alternative[] = [];
  for (const word of text.slice(2, -1).split(",")) {
    const [, name, rest] = /^([^:/]+)(.+)$/.exec(word) ?? [];
    const wait = readWait(rest ?? "");
    if (name === undefined || wait === undefined || wait === "unreadable" || wait.kind === "any")
      return "unreadable";
    const { kind, target, limitMs } = wait;
    any.push({
      name,
      kind,
      ...(target !== undefined && { target }),
      ...(limitMs !== undefined && { limitMs }),
    });
  }
  return text.endsWith("}") && any.length > 0 ? { kind: "any", any } : "unreadable";
}

/** The names under which a signal or an event that ends the wait is sent to the saga; none for a sleep. */
export function arrivalNames(step: string, wait: Wait): readonly string[] {
  if (wait.any)
    return wait.any.flatMap((one) => (one.kind === "sleep" ? [] : [alternativeArrivesAs(step, one)]));
  if (wait.kind === "sleep") return [];
  return [wait.kind === "event" ? eventArrivesAs(step) : (wait.target ?? "")];
}

function alternativeArrivesAs(step: string, { name, kind, target }: Alternative): string {
  return kind === "event" ? eventArrivesAs(alternativeName(step, name)) : (target ?? "");
}

/** One alternative of a step. No name of a step has a slash. */
export function alternativeName(step: string, name: string): string {
  return `${step}/${name}`;
}

/** After how long a wait ends at the latest; undefined if it has no limit. */
export function limitOf({ any, limitMs }: Wait): number | undefined {
  if (!any) return limitMs;
  const limits = any.flatMap((one) => one.limitMs ?? []);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** What came first of several, and what arrived with it; nothing arrives with a sleep. */
export interface First {
  readonly name: string;
  readonly arrival: Arrival | undefined;
}

/**
 * Which of several came first: of what arrived, the one with the lowest number; of the sleeps, the one that ends first; between the
 * two, the earlier instant, and of equal ones what was declared first. `arrivals` are those that the wait may take. Where an
 * instant is not known, the process has just begun to wait, and what has arrived came first. Undefined: nothing has come.
 */
export function firstOf(
  step: string,
  any: readonly Alternative[],
  arrivals: readonly Arrival[],
  begunAtMs: number | undefined,
  isOver: (limitMs: number) => boolean,
): First | undefined {
  const place = (arrival: Arrival): number =>
    any.findIndex((one) => one.kind !== "sleep" && alternativeArrivesAs(step, one) === arrival.name);
  const arrival = arrivals.find((one) => place(one) >= 0);
  let sleep: { readonly index: number; readonly limitMs: number } | undefined;
  for (const [index, { limitMs }] of any.entries())
    if (limitMs !== undefined && isOver(limitMs) && limitMs < (sleep?.limitMs ?? Infinity))
      sleep = { index, limitMs };
  if (arrival && (!sleep || isBefore(arrival, place(arrival), sleep, begunAtMs)))
    return { name: (any[place(arrival)] as Alternative).name, arrival };
  return sleep && { name: (any[sleep.index] as Alternative).name, arrival: undefined };
}

function isBefore(
  { atMs }: Arrival,
  place: number,
  sleep: { readonly index: number; readonly limitMs: number },
  begunAtMs: number | undefined,
): boolean {
  if (atMs === undefined || begunAtMs === undefined) return true;
  const endMs = begunAtMs + sleep.limitMs;
  return atMs === endMs ? place < sleep.index : atMs < endMs;
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
  if (waitFor(recorded) === waitFor(now)) return undefined;
  return `waits for ${waitFor(now)}, not for ${waitFor(recorded)}`;
}

/** What the step waits for, in words. */
export function waitFor({ kind, target, any }: Pick<Wait, "kind" | "target" | "any">): string {
  if (any) return `the first of ${any.map((one) => `${one.name} (${waitFor(one)})`).join(", ")}`;
  return kind === "sleep" ? "time to pass" : `${kind} ${target ?? ""}`;
}

/** The same with how long, for pictures: "sleeps 2h", "waits for signal approved, at most 3d". */
export function waitPhrase(wait: Wait): string {
  if (wait.any) return `waits for the first of ${wait.any.map(alternativePhrase).join(", ")}`;
  const limit = wait.limitMs === undefined ? undefined : durationText(wait.limitMs);
  if (wait.kind === "sleep") return `sleeps ${limit ?? ""}`;
  return `waits for ${waitFor(wait)}${limit === undefined ? "" : `, at most ${limit}`}`;
}

function alternativePhrase({ name, kind, target, limitMs }: Alternative): string {
  return `${name} (${kind === "sleep" ? durationText(limitMs ?? 0) : `${kind} ${target ?? ""}`})`;
}

/**
 * The line's details where something arrived: which one, so that no other wait takes it, too. `which` is the alternative that came
 * first, where there were several.
 */
export function receivedDetails(number: number | undefined, value: string | null, which?: string): string {
  const fields = [
    number === undefined ? [] : [`"number":${number}`],
    which === undefined ? [] : [`"which":${JSON.stringify(which)}`],
    value === null ? [] : [`"value":${value}`],
  ];
  return `{${fields.flat().join(",")}}`;
}

/** What the wait received; nothing if its time passed. */
export interface Received {
  readonly number?: number;
  readonly value?: unknown;
  readonly which?: string;
}

export function readReceived(details: string | null): Received {
  return details === null ? {} : (JSON.parse(details) as Received);
}
