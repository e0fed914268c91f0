/** Reads what a definition says of a step that only waits into what the engine works with, and refuses nonsense. */
import { positiveMs, type Duration } from "../../../core/duration.ts";
import { AmendsError } from "../../../core/errors.ts";
import { RESERVED_FIELDS } from "../../../core/flow/sealed.ts";
import { checkName, NAME_MAX } from "../../../core/identity.ts";
import { refuseUnknown } from "../../../core/options.ts";
import type { Alternative, Wait } from "../../../core/saga/steps/wait.ts";
import type { AwaitedEvent, OnTimeout } from "../options/wait.ts";
import { checkPlace, quietStep, type Place, type StepDefinition } from "../settings.ts";
import { isSchema, type AnySignal } from "../signal.ts";

/** Which event a step waits for: known from the saga's input, before anything else of it is. */
export interface EventInterest {
  readonly event: AwaitedEvent;
  readonly field: string;
  readonly equals: (saga: { readonly input: unknown; readonly sagaId: string }) => unknown;
  /** The alternative that it is, of a step that waits for the first of several. */
  readonly alternative?: string | undefined;
}

export function readSleep(place: Place, name: string, duration: Duration): StepDefinition {
  const where = `Saga ${place.saga}, step ${checkPlace(place.saga, place.before, name)}`;
  const limitMs = positiveMs(duration, `${where}: how long it sleeps`);
  return quietStep(place, name, { wait: { kind: "sleep", limitMs } });
}

/** A signal or an event. */
export interface TargetOptions {
  readonly signal?: AnySignal;
  readonly event?: AwaitedEvent;
  readonly where?: unknown;
  readonly equals?: unknown;
}

/** A signal or an event that ends a wait. */
export interface Target {
  readonly wait: { readonly kind: "signal" | "event"; readonly target: string };
  readonly signal: AnySignal | undefined;
  readonly interest: EventInterest | undefined;
}

interface Given extends TargetOptions {
  readonly timeout?: Duration;
  readonly onTimeout?: OnTimeout;
  readonly any?: Readonly<Record<string, unknown>>;
}

type Bad = (why: string) => never;

const TARGET = ["signal", "event", "where", "equals"];
const OPTIONS = [...TARGET, "timeout", "onTimeout"];

export function readWaitFor(place: Place, name: string, options: unknown): StepDefinition {
  const where = `Saga ${place.saga}, step ${checkPlace(place.saga, place.before, name)}`;
  const bad: Bad = (why) => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`, { saga: place.saga, step: name });
  };
  if (typeof options === "object" && options !== null && "any" in options)
    return readAny(place, name, options, where, bad);
  refuseUnknown(options, OPTIONS, where);
  const { timeout, onTimeout, ...given } = options as Given;
  const target = readTarget(given, where, "the step", bad);
  if (onTimeout !== undefined && onTimeout !== "compensate" && onTimeout !== "continue")
    bad('`onTimeout` is "compensate" or "continue"');
  if (onTimeout !== undefined && timeout === undefined) bad("`onTimeout` needs a `timeout`");
  const passed = place.before.some((step) => step.planned.pivot);
  if (passed && timeout !== undefined && onTimeout !== "continue")
    bad('after the pivot a saga only goes forward, so a timeout needs `onTimeout: "continue"`');
  const wait: Wait = {
    ...target.wait,
    ...(timeout !== undefined && { limitMs: positiveMs(timeout, `${where}: timeout`) }),
    ...(onTimeout === "continue" && { goesOn: true }),
  };
  return {
    ...quietStep(place, name, { wait }),
    ...(target.interest && { interests: [target.interest] }),
    ...(target.signal && { signals: [target.signal] }),
  };
}

/** `what`: what says so, for the messages. */
export function readTarget(given: TargetOptions, where: string, what: string, bad: Bad): Target {
  refuseUnknown(given, TARGET, `${where}: ${what}`);
  const { signal, event } = given;
  if ((signal === undefined) === (event === undefined))
    bad(`${what} must name \`signal\` or \`event\`, one of the two`);
  if (signal !== undefined) {
    if (!isSchema(signal.schema)) bad("`signal` must be made by `signal(…)`");
    if (given.where !== undefined || given.equals !== undefined)
      bad("a signal is sent to one saga: `where` and `equals` are for events");
    const target = checkName(signal.name, `${where}: its signal's name`);
    return { wait: { kind: "signal", target }, signal, interest: undefined };
  }
  const awaited = event as AwaitedEvent;
  if (typeof (awaited as Partial<AwaitedEvent>).read !== "function")
    bad("`event` must be made by `event(…)`");
  const wait = { kind: "event", target: awaited.type } as const;
  return { wait, signal: undefined, interest: interestOf(awaited, given, bad) };
}

/** Waits for the first of several. */
function readAny(place: Place, name: string, options: object, where: string, bad: Bad): StepDefinition {
  refuseUnknown(options, ["any"], where);
  const { any: given } = options as Given;
  if (typeof given !== "object" || given === null) return bad("`any` must be an object with a name for each");
  const any: Alternative[] = [];
  const interests: EventInterest[] = [];
  const signals: AnySignal[] = [];
  for (const [alternative, one] of Object.entries(given)) {
    checkName(alternative, `${where}: a name in \`any\``);
    const field = `${where}, ${alternative}`;
    if (typeof one !== "object" || one === null) {
      any.push({ name: alternative, kind: "sleep", limitMs: positiveMs(one as Duration, field) });
      continue;
    }
    const { wait, interest, signal } = readTarget(one, where, `\`any.${alternative}\``, bad);
    any.push({ name: alternative, ...wait });
    if (interest) interests.push({ ...interest, alternative });
    if (signal) signals.push(signal);
  }
  if (any.length < 2) bad("`any` must name at least two alternatives");
  if (new Set(signals.map((signal) => signal.name)).size < signals.length)
    bad("`any` names one signal twice: which of the two came first could not be told");
  return {
    ...quietStep(place, name, { wait: { kind: "any", any } }),
    ...(interests.length > 0 && { interests }),
    ...(signals.length > 0 && { signals }),
  };
}

function interestOf(
  event: AwaitedEvent,
  { where: field, equals }: TargetOptions,
  bad: (why: string) => never,
): EventInterest {
  if (typeof field !== "string" || field === "" || field.length > NAME_MAX)
    return bad(
      `\`where\` must name the event's field by which it is known, with at most ${NAME_MAX} characters`,
    );
  if ((RESERVED_FIELDS as readonly string[]).includes(field))
    bad(
      `\`where\` names ${field}, which belongs to the event itself: match by a field of your own, such as orderId`,
    );
  if (typeof equals !== "function") return bad("`equals` must be a function");
  return { event, field, equals: equals as EventInterest["equals"] };
}
