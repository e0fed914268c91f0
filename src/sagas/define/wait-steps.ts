/** Reads what a definition says of a step that only waits into what the engine works with, and refuses nonsense. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName, NAME_MAX } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Wait } from "../../core/saga/wait.ts";
import { checkPlace, type Place, type StepDefinition } from "./settings.ts";
import { isSchema, type AnySignal } from "./signal.ts";
import type { AwaitedEvent, OnTimeout } from "./wait-options.ts";

/** Which event a step waits for: known from the saga's input, before anything else of it is. */
export interface EventInterest {
  readonly event: AwaitedEvent;
  readonly field: string;
  readonly equals: (saga: { readonly input: unknown; readonly sagaId: string }) => unknown;
}

export function readSleep(place: Place, name: string, duration: Duration): StepDefinition {
  const where = `Saga ${place.saga}, step ${checkPlace(place.saga, place.before, name)}`;
  const limitMs = positiveMs(duration, `${where}: how long it sleeps`);
  return waitStep(place, name, { kind: "sleep", limitMs }, undefined);
}

interface Given {
  readonly signal?: AnySignal;
  readonly event?: AwaitedEvent;
  readonly where?: unknown;
  readonly equals?: unknown;
  readonly timeout?: Duration;
  readonly onTimeout?: OnTimeout;
}

const OPTIONS = ["signal", "event", "where", "equals", "timeout", "onTimeout"];

export function readWaitFor(place: Place, name: string, options: unknown): StepDefinition {
  const where = `Saga ${place.saga}, step ${checkPlace(place.saga, place.before, name)}`;
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`, { saga: place.saga, step: name });
  };
  refuseUnknown(options, OPTIONS, where);
  const given = options as Given;
  const { signal, event, timeout, onTimeout } = given;
  if ((signal === undefined) === (event === undefined)) bad("say `signal` or `event`, one of the two");
  if (signal !== undefined && !isSchema(signal.schema)) bad("`signal` must be made by `signal(…)`");
  if (signal !== undefined && (given.where !== undefined || given.equals !== undefined))
    bad("a signal is sent to one saga: `where` and `equals` are for events");
  if (event !== undefined && typeof (event as Partial<AwaitedEvent>).read !== "function")
    bad("`event` must be made by `event(…)`");
  if (onTimeout !== undefined && onTimeout !== "compensate" && onTimeout !== "continue")
    bad('`onTimeout` is "compensate" or "continue"');
  if (onTimeout !== undefined && timeout === undefined) bad("`onTimeout` needs a `timeout`");
  const passed = place.before.some((step) => step.planned.pivot);
  if (passed && timeout !== undefined && onTimeout !== "continue")
    bad('after the pivot a saga only goes forward, so a timeout needs `onTimeout: "continue"`');
  const wait: Wait = {
    kind: signal ? "signal" : "event",
    target: signal ? checkName(signal.name, `${where}: its signal's name`) : (event as AwaitedEvent).type,
    ...(timeout !== undefined && { limitMs: positiveMs(timeout, `${where}: timeout`) }),
    ...(onTimeout === "continue" && { goesOn: true }),
  };
  return { ...waitStep(place, name, wait, event && interestOf(event, given, bad)), signal };
}

function interestOf(
  event: AwaitedEvent,
  { where: field, equals }: Given,
  bad: (why: string) => never,
): EventInterest {
  if (typeof field !== "string" || field === "" || field.length > NAME_MAX)
    return bad(
      `\`where\` must name the event's field by which it is known, with at most ${NAME_MAX} characters`,
    );
  if (typeof equals !== "function") return bad("`equals` must be a function");
  return { event, field, equals: equals as EventInterest["equals"] };
}

function waitStep(
  { settings }: Place,
  name: string,
  wait: Wait,
  interest: EventInterest | undefined,
): StepDefinition {
  return {
    name,
    planned: { name, undo: false, pivot: false, undoOnErr: false, atomic: false, wait },
    act: () => undefined,
    compensate: undefined,
    retry: settings.retry,
    compensateRetry: settings.compensateRetry,
    timeoutMs: undefined,
    deadlineMs: undefined,
    transaction: undefined,
    interest,
  };
}
